// SPDX-License-Identifier: GPL-2.0
#include "tenant.h"

#include <csignal>
#include <cstring>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "socket.h"
#include "system.h"

namespace guest
{

namespace
{

enum { BEGUN, APART, RELEASED };

void drop_rights(uid_t uid)
{
	if (setgroups(0, nullptr) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		throw_errno("setresuid");
	/*
	 * The credentials' change has cleared both: who may write uid_map, and the signal at the
	 * parent's end.
	 */
	if (prctl(PR_SET_DUMPABLE, 1) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		throw_errno("prctl");
}

void be_root_apart(uid_t uid)
{
	std::string map = "0 " + std::to_string(uid) + " 1";

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		throw_errno("unshare");
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	write_file("/proc/self/gid_map", map);
}

void raise_loopback()
{
	Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	ifreq request = {};

	strcpy(request.ifr_name, "lo");
	request.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		throw_errno("SIOCSIFFLAGS");
}

/* Return: the exit status. */
int run(const std::function<void()> &what)
{
	try {
		what();
	} catch (const std::exception &failure) {
		printf("# a tenant: %s\n", failure.what());
		fflush(stdout);
		return 1;
	}
	return 0;
}

} // namespace

Tenant::Tenant(uid_t uid, Where where, const std::function<void()> &what)
    : where(where), device("tenant" + std::to_string(uid)), process(fork())
{
	if (process < 0)
		throw_errno("fork");
	if (!process)
		_exit(run([&] {
			drop_rights(uid);
			if (where == Where::apart) {
				be_root_apart(uid);
				stage->reached = APART;
				wait_until("it may begin",
					   [&] { return stage->reached == RELEASED; });
				raise_loopback();
			}
			what();
		}));
	if (where == Where::apart)
		release();
}

void Tenant::release()
{
	wait_until("it is apart", [&] { return stage->reached == APART || has_ended(); });
	must_run("ip link add " + device + " type veth peer name up0 netns " +
		 std::to_string(process));
	stage->reached = RELEASED;
}

Tenant::~Tenant()
{
	if (!ended) {
		kill();
		waitpid(process, nullptr, 0);
	}
}

bool Tenant::has_ended()
{
	if (!ended && waitpid(process, &status, WNOHANG) == process)
		ended = true;
	return ended;
}

void Tenant::kill()
{
	if (!ended)
		::kill(process, SIGKILL);
}

int Tenant::finish()
{
	wait_until(
	    "a tenant's process ends", [&] { return has_ended(); }, 120);
	return status;
}

void Tenant::join(const std::string &address) const
{
	must_run("ip address add " + address + " dev " + device + " && ip link set " + device +
		 " up");
}

void Tenant::await_netns_end() const
{
	if (where == Where::apart)
		wait_until(
		    "a tenant's namespace ends", [&] { return !if_nametoindex(device.c_str()); },
		    120);
}

} // namespace guest
