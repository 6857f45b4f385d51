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
	must_run("ip netns attach transient " + container);
}

Netns::Netns(Owner owner)
{
	if (owner == Owner::container)
		name_container();
	else
		must_run("ip netns add transient");
	must_run("ip -batch - <<<'link add veth9 type veth peer name veth9 netns transient\n"
		 "addr add 10.99.0.1/24 dev veth9\nlink set veth9 up' && "
		 "ip -n transient -batch - <<<'addr add 10.99.0.2/24 dev veth9\n"
		 "link set veth9 up'");
	enter([] {
		set_sysctl("net.ipv4.tcp_fin_timeout", "1");
		/* A peer that sleeps does not acknowledge a FIN. */
		set_sysctl("net.ipv4.tcp_orphan_retries", "1");
	});
}

Netns::~Netns()
{
	if (has_name)
		run_command("ip netns del transient");
	/* TCP would ask for minutes after what was closed at this end only. */
	run_command("ss -K -t dst 10.99.0.2");
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
		Fd netns(open("/run/netns/transient", O_RDONLY | O_CLOEXEC));

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
		Fd client = must_connect(Flavor(), address_there(local_address(there).port()));

		return {std::move(client), must_accept(there)};
	}

	Fd listener = must_listen(Flavor());
	Address to = address_from("10.99.0.1", local_address(listener).port());

	if (::connect(there, to.get(), to.len))
		throw_errno("connect");
	return {must_accept(listener), std::move(there)};
}

void Netns::remove()
{
	must_run("ip netns del transient");
	has_name = false;
}

void Netns::await_end() const
{
	wait_until("the namespace is gone", [] { return !if_nametoindex("veth9"); });
}

} // namespace guest
