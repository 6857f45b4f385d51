/* SPDX-License-Identifier: GPL-2.0 */
/* Fixtures for tests of link groups with two links. */
#ifndef GUEST_TWO_LINKS_H
#define GUEST_TWO_LINKS_H

#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <string>

#include "echo_stream.h"
#include "two_ports.h"

namespace guest
{

/* Both modules are loaded anew for each test, and nothing is left that keeps them afterwards. */
class TwoLinks : public testing::Test
{
protected:
	explicit TwoLinks(Subnets subnets = Subnets::nested) : here(subnets), there(peer, subnets)
	{
	}

	void SetUp() override;
	void TearDown() override;

	std::string links_shown() const;

	/* Both ends come to have one group, with active links by these devices. */
	bool get_links(const std::string &devices, int seconds) const;
	void must_get_links(const std::string &devices) const
	{
		must_get_links(devices, devices);
	}
	void must_get_links(const std::string &here, const std::string &there) const;
	void expect_one_link() const;

	/* As TwoPorts::use_version_1(), at both ends. */
	void use_version_1() const;

	/* With receive buffers of that size at both ends, or of the default size. */
	Connection connection(Role role, int receive_buffer = 0);

	/* The end of a connection in which this guest has a role. */
	const TwoPorts &end_of(Role role, Role wanted) const
	{
		return role == wanted ? here : there;
	}

	Agent peer;
	const TwoPorts here, there;

private:
	bool get_links(const std::string &devices_here, const std::string &devices_there,
		       int seconds) const;

	bool is_set_up = false;
};

/* Connections with bytes under way. */
class Streams : public TwoLinks
{
protected:
	using TwoLinks::TwoLinks;

	void TearDown() override;

	/* Connections on both links, with bytes under way. */
	void begin_streams(Role role);
	/* Connections once both ends have links by these devices. */
	void begin_streams(Role role, const std::string &devices_here,
			   const std::string &devices_there);
	/*
	 * By @lose the end in the role @victim loses a link, and both ends come to know. An in-tree
	 * server hangs for ever if its client deletes a link on which the server has messages under
	 * way, so there are none then.
	 */
	void lose_link(Role victim, const TwoPorts &server, const std::function<void()> &lose);
	void await_progress();
	void finish();

	std::list<EchoStream> streams;
};

/* Five bytes of which the third is urgent; the other end expects them by expect_urgent_byte(). */
void send_urgent_byte(int fd);
void expect_urgent_byte(RemoteSocket &socket);

/*
 * Streams of this module at both ends, for losses that the in-tree module has no part in: as a
 * server it may hang for ever when a link is lost with messages under way.
 */
class OwnStreams : public Streams
{
protected:
	void SetUp() override;
};

} // namespace guest

#endif
