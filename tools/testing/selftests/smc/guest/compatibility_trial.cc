// SPDX-License-Identifier: GPL-2.0
#include "compatibility_trial.h"

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/ioctl.h>

#include "compatibility_table.h"
#include "full.h"
#include "limit.h"
#include "smc_tool.h"
#include "wire/clc.h"

namespace guest
{

std::string said(long rc)
{
	return rc < 0 ? strerrorname_np(errno) : std::to_string(rc);
}

std::string hex(const std::string &bytes)
{
	std::string text;
	char digits[3];

	for (unsigned char byte : bytes) {
		snprintf(digits, sizeof(digits), "%02x", byte);
		text += digits;
	}
	return text;
}

std::string send_ten(Connection &connection, int flag)
{
	std::string text = said(send(connection.here, "0123456789", 10, flag));

	return text + ", " + connection.there.recv(10, MSG_WAITALL);
}

void await_bytes(int fd, int bytes)
{
	wait_until(std::to_string(bytes) + " bytes to read", [&] {
		int waiting = 0;

		ioctl(fd, FIONREAD, &waiting);
		return waiting >= bytes;
	});
}

void check_alive(Connection &connection, bool by_smc)
{
	check_data(connection, 2000, by_smc);
}

void expect_made_tcp(const std::function<Fd()> &made)
{
	int64_t before = fallbacks(Role::client, SMC_DIAG_SOCKET_OPTION);
	Fd fd = made();

	EXPECT_EQ(fallbacks(Role::client, SMC_DIAG_SOCKET_OPTION), before + 1);

	nlohmann::json shown = socket_shown(fd);

	EXPECT_EQ(shown.at("mode"), "TCP");
	EXPECT_EQ(shown.at("fallback").at("reason"), "a socket option that SMC does not support");
}

namespace
{

void expect_as_tcp(Bench &bench, const Trial &trial)
{
	if (trial.fresh) {
		EXPECT_EQ(trial.fresh(must_socket(bench.flavor(Kind::smc))),
			  trial.fresh(must_socket(bench.flavor(Kind::tcp))))
		    << "before it is connected";
	}

	Connection smc = bench.connect(Kind::smc), tcp = bench.connect(Kind::tcp);

	check_alive(smc, true);
	check_alive(tcp, false);
	EXPECT_EQ(trial.act(smc), trial.act(tcp));
}

void expect_refused(Bench &bench, const Trial &trial, const std::string &error)
{
	Connection smc = bench.connect(Kind::smc);
	std::string said = trial.act(smc);

	if (said == "ENOPROTOOPT") {
		/* Not every kernel has the option. */
		Connection tcp = bench.connect(Kind::tcp);

		EXPECT_EQ(said, trial.act(tcp));
	} else {
		EXPECT_EQ(said, error);
	}
	check_alive(smc, true);
}

void expect_made_tcp_before(Bench &bench, const Trial &trial)
{
	expect_made_tcp([&] {
		Connection tcp = bench.connect(Kind::smc, {.here = [&](int fd) {
						       EXPECT_EQ(trial.before(fd), "0");
					       }});

		check_alive(tcp, false);
		return std::move(tcp.here);
	});
}

/* Clients of an existing listener. */
void expect_made_tcp_of_listener(Bench &bench, const Trial &trial)
{
	Fd listener = must_listen(bench.flavor(Kind::smc));
	Address to = address_of(0, bench.family, local_address(listener).port());

	for (bool by_smc : {true, false}) {
		RemoteSocket there = bench.agent.connect(bench.flavor(Kind::smc), to);
		Connection connection = {must_accept(listener), std::move(there)};

		check_alive(connection, by_smc);
		if (by_smc) {
			EXPECT_EQ(trial.before(listener), "0");
		}
	}
}

void expect_makes_tcp(Bench &bench, const Trial &trial)
{
	/* Not every kernel has the option. */
	if (trial.before && trial.before(must_socket(bench.flavor(Kind::tcp))) == "ENOPROTOOPT") {
		EXPECT_EQ(trial.before(must_socket(bench.flavor(Kind::smc))), "ENOPROTOOPT");
		return;
	}
	if (trial.makes_tcp)
		trial.makes_tcp(bench);
	else
		expect_made_tcp_before(bench, trial);
	if (trial.listens)
		expect_made_tcp_of_listener(bench, trial);
}

/* A trial for another claim does not count for this one. */
bool is_for(const Trial &trial, Claim claim)
{
	bool makes_tcp = trial.before || trial.makes_tcp;

	switch (claim) {
	case Claim::differently:
		return !!trial.differs;
	case Claim::makes_tcp:
		return trial.act && makes_tcp;
	default:
		return trial.act && !makes_tcp;
	}
}

void try_row(Bench &bench, const Row &row, const Trial &trial)
{
	ASSERT_TRUE(is_for(trial, row.claim)) << "no trial for this claim";
	switch (row.claim) {
	case Claim::as_tcp:
		expect_as_tcp(bench, trial);
		return;
	case Claim::differently:
		trial.differs(bench);
		return;
	case Claim::refused:
		expect_refused(bench, trial, row.error);
		return;
	case Claim::makes_tcp:
		expect_refused(bench, trial, row.error);
		expect_makes_tcp(bench, trial);
		return;
	}
}

} // namespace

void try_section(const std::string &section, const Trials &trials, int family)
{
	std::set<std::string> done;
	Bench bench(family);

	set_limit(600);
	for (const Row &row : compatibility_rows(section)) {
		SCOPED_TRACE(row.name);
		EXPECT_TRUE(done.insert(row.name).second) << "it is there twice";

		auto trial = trials.find(row.name);

		if (trial == trials.end()) {
			ADD_FAILURE() << "no trial for this row";
			continue;
		}
		try {
			try_row(bench, row, trial->second);
		} catch (const std::exception &error) {
			ADD_FAILURE() << error.what();
		}
	}
	for (const auto &[name, trial] : trials)
		EXPECT_TRUE(done.contains(name)) << "no row for " << name;
}

std::string said_by_set(int fd, const Option &option, const std::string &value)
{
	return said(setsockopt(fd, option.level, option.number, value.data(), value.size()));
}

namespace
{

std::string said_by_get(int fd, const Option &option, std::optional<std::string> *found = nullptr)
{
	std::string value(option.len, '\0');
	socklen_t len = option.len;
	long rc = getsockopt(fd, option.level, option.number, value.data(), &len);

	if (rc)
		return said(rc);
	value.resize(std::min<size_t>(len, value.size()));
	if (found)
		*found = value;
	return option.varies ? std::to_string(len) + " bytes" : hex(value);
}

} // namespace

std::string look_at_option(int fd, const Option &option, const std::optional<std::string> &value,
			   const std::function<std::string()> &meanwhile)
{
	std::optional<std::string> before;
	std::string text = "read " + said_by_get(fd, option, &before);

	if (!value)
		return text;
	text += ", set " + said_by_set(fd, option, *value);
	text += ", read " + said_by_get(fd, option);
	if (meanwhile)
		text += ", " + meanwhile();
	if (before)
		said_by_set(fd, option, *before);
	return text;
}

namespace
{

/* All data goes by SMC, whatever the option is, and none by TCP. */
void check_below(Bench &bench, const Option &option)
{
	Connection smc = bench.connect(Kind::smc), tcp = bench.connect(Kind::tcp);
	const std::optional<std::string> &value = option.later ? option.later : option.value;
	int64_t before = times_sent(smc.here, false);

	if (value) {
		EXPECT_EQ(said_by_set(smc.here, option, *value),
			  said_by_set(tcp.here, option, *value));
	}

	Option length_only = option;

	/* Values from the packets below can't be compared between connections. */
	length_only.varies = true;
	EXPECT_EQ(said_by_get(smc.here, length_only), said_by_get(tcp.here, length_only));
	check_alive(smc, true);
	EXPECT_EQ(times_sent(smc.here, false), before);
}

Trial trial_alike(const Option &option)
{
	auto later = option.later ? option.later : option.value;

	return {.act =
		    [=](Connection &connection) {
			    return look_at_option(connection.here, option, later,
						  [&] { return send_ten(connection, 0); });
		    },
		.fresh =
		    [=](int fd) {
			    return look_at_option(fd, option, option.value);
		    }};
}

Trial trial_below(const Option &option)
{
	return {.differs = [=](Bench &bench) {
		check_below(bench, option);
	}};
}

Trials trials_of(const std::vector<Option> &options, Trial (*trial_of)(const Option &option))
{
	Trials trials;

	for (const Option &option : options)
		trials[option.name] = trial_of(option);
	return trials;
}

} // namespace

Trials alike(const std::vector<Option> &options)
{
	return trials_of(options, trial_alike);
}

Trials below(const std::vector<Option> &options)
{
	return trials_of(options, trial_below);
}

Trial refused(const Option &option)
{
	return {.act = [=](Connection &connection) {
		return said_by_set(connection.here, option, *option.value);
	}};
}

Trial made_tcp(const Option &option, bool listens)
{
	Trial trial = refused(option);

	trial.before = [=](int fd) {
		return said_by_set(fd, option, *option.value);
	};
	trial.listens = listens;
	return trial;
}

} // namespace guest
