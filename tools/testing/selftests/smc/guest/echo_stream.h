/* SPDX-License-Identifier: GPL-2.0 */
/* A connection with bytes under way in both directions for as long as a test needs them. */
#ifndef GUEST_ECHO_STREAM_H
#define GUEST_ECHO_STREAM_H

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include "agent.h"

namespace guest
{

/* The bytes that came back are not those that were sent. */
class WrongByte : public std::runtime_error
{
public:
	WrongByte(const std::string &what, bool was_wrong_there)
	    : std::runtime_error(what), was_wrong_there(was_wrong_there)
	{
	}

	/* The bytes were wrong when the other end read them, so this end's were changed. */
	const bool was_wrong_there;
};

/* This end sends without end, the other end echoes, and this end checks every byte. */
class EchoStream
{
public:
	EchoStream(Connection connection, uint64_t seed);
	EchoStream(const EchoStream &) = delete;
	~EchoStream();

	int fd() const
	{
		return connection.here;
	}
	/*
	 * Waits for the echo of so many bytes that have not been sent yet; throws if the stream
	 * fails.
	 */
	void await_progress(uint64_t bytes = 1);
	/* Sends from now on with or without rests; with them at first. */
	void rest_between_sends(bool rests)
	{
		resting = rests;
	}
	/* Sends nothing until resume(), and waits until all bytes are back. */
	void pause();
	void resume()
	{
		paused = false;
	}
	/* Sends no more, and waits for the end: throws unless every byte came back. */
	void finish();
	uint64_t bytes_echoed() const
	{
		return echoed;
	}
	/* Waits until the stream ends by itself; returns errno of recv() or send(), or 0. */
	int await_ending();
	/* Waits for the end there; returns a text that has that of errno, or "". */
	std::string await_ending_there();

private:
	void send_all();
	bool send_some(const std::string &bytes);
	void receive_all();

	/* Throws if the stream has ended. */
	void must_last();
	/* Throws a WrongByte if that is what ended the stream. */
	[[noreturn]] void fail(const std::string &how);

	Connection connection;
	const uint64_t seed;
	std::atomic<uint64_t> sent = 0, echoed = 0;
	std::atomic<int> send_error = 0;
	std::atomic<bool> stopping = false, paused = false, idle = false, resting = true;
	std::atomic<bool> ended = false;
	/* Written before @ended is set. */
	int error = 0;
	std::string wrong;
	std::thread sender, receiver;
	Job echoing;
};

} // namespace guest

#endif
