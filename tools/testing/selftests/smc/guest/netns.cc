// SPDX-License-Identifier: GPL-2.0
#include "netns.h"

#include <fcntl.h>
#include <future>
#include <net/if.h>
#include <sched.h>

namespace guest
{

void Netns::name_container()
{
	container = must_run("unshare -Urn sleep infinity >/dev/null 2>&1 & echo -n $!");
	wait_until("the container has its namespaces",
		   [this] { return run_as_root("true").status == 0; });
	must_run("ip netns attach " + name + " " + container);
}

Netns::Netns(Owner owner) : Netns(0, owner)
{
}

Netns::Netns(int number, Owner owner)
    : suffix(number ? std::to_string(number) : ""), name("transient" + suffix),
      device("veth9" + suffix), subnet("10.99." + std::to_string(number) + ".")
{
	const std::string up = "\nlink set " + device + " up'";

	if (owner == Owner::container)
		name_container();
	else
		must_run("ip netns add " + name);
	must_run("ip -batch - <<<'link add " + device + " type veth peer name " + device +
		 " netns " + name + "\naddr add " + subnet + "1/24 dev " + device + up +
		 " && ip -n " + name + " -batch - <<<'addr add " + subnet + "2/24 dev " + device +
		 up);
	enter([] {
		set_sysctl("net.ipv4.tcp_fin_timeout", "1");
		/* A peer that sleeps acknowledges no FIN, so TCP would retransmit it. */
		set_sysctl("net.ipv4.tcp_orphan_retries", "1");
	});
}

Netns::~Netns()
{
	if (has_name)
		run_command("ip netns del " + name);
	/* TCP would retransmit for minutes after what was closed at this end only. */
	run_command("ss -K -t dst " + subnet + "2");
	if (!container.empty())
		run_command("kill " + container);
}

Output Netns::run_as_root(const std::string &command) const
{
	return run_command("nsenter -U -n -t " + container + " sh -c '" + command + "'");
}

void Netns::enter(const std::function<void()> &what) const
{
	std::async(std::launch::async, [&] {
		Fd netns(open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));

		if (netns < 0 || setns(netns, CLONE_NEWNET))
			throw_errno("setns");
		what();
	}).get();
}

Fd Netns::make(const std::function<Fd()> &what) const
{
	Fd made;

	enter([&] { made = what(); });
	return made;
}

Counters Netns::counters() const
{
	std::string text;

	enter([&] { text = read_file("/proc/thread-self/net/smc_stat"); });
	return Counters(text);
}

Ends Netns::connect(Role role) const
{
	return connect(role, make([role] {
			       return role == Role::client ? must_listen(Flavor())
							   : must_socket(Flavor());
		       }));
}

Ends Netns::connect(Role role, Fd there) const
{
	if (role == Role::client) {
		Fd client = must_connect(Flavor(), address(local_address(there).port()));

		return {std::move(client), must_accept(there)};
	}

	Fd listener = must_listen(Flavor());
	Address to = address_from(subnet + "1", local_address(listener).port());

	if (::connect(there, to.get(), to.len))
		throw_errno("connect");
	return {must_accept(listener), std::move(there)};
}

void Netns::remove()
{
	must_run("ip netns del " + name);
	has_name = false;
}

bool Netns::has_ended() const
{
	return !if_nametoindex(device.c_str());
}

void Netns::await_end() const
{
	wait_until("the namespace is gone", [this] { return has_ended(); });
}

} // namespace guest
