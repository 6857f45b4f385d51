// SPDX-License-Identifier: GPL-2.0
#include "echo_stream.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "pattern.h"
#include "system.h"

namespace guest
{

EchoStream::EchoStream(Connection ends, uint64_t seed)
    : connection(std::move(ends)), seed(seed), sender([this] { send_all(); }),
      receiver([this] { receive_all(); }), echoing(connection.there.start_echo(seed))
{
}

EchoStream::~EchoStream()
{
	stopping = true;
	shutdown(connection.here, SHUT_RDWR);
	if (sender.joinable())
		sender.join();
	if (receiver.joinable())
		receiver.join();
}

/* It rests between sends, as guests that are busy with bytes have no time for anything else. */
void EchoStream::send_all()
{
	RandomLength length(seed, 32768);

	while (!stopping) {
		idle = paused.load();
		if (!idle && !send_some(pattern(seed, sent, length())))
			return;
		if (idle || resting)
			std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	shutdown(connection.here, SHUT_WR);
}

/* Return: false after an error, of which the receiver knows nothing: it is told only once. */
bool EchoStream::send_some(const std::string &bytes)
{
	for (size_t done = 0; done < bytes.size();) {
		ssize_t n =
		    send(connection.here, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);

		if (n < 0) {
			send_error = errno;
			return false;
		}
		done += n;
		sent += n;
	}
	return true;
}

void EchoStream::receive_all()
{
	char bytes[16384];
	ssize_t n;

	while ((n = recv(connection.here, bytes, sizeof(bytes), 0)) > 0 && wrong.empty()) {
		wrong = pattern_fault(seed, echoed, bytes, n);
		echoed += n;
	}
	error = n < 0 ? errno : 0;
	ended = true;
}

void EchoStream::must_last()
{
	if (ended)
		fail("ended after " + std::to_string(echoed) + " bytes");
}

void EchoStream::fail(const std::string &how)
{
	const std::string what = "stream " + std::to_string(seed) + ": " + how + ": ";

	if (!wrong.empty()) {
		stopping = true;
		shutdown(connection.here, SHUT_RDWR);

		const std::string there = await_ending_there();

		throw WrongByte(what + wrong + "; the other end: " + there,
				there.find("wrong byte") != std::string::npos);
	}
	throw std::runtime_error(what + strerror(error));
}

void EchoStream::await_progress(uint64_t bytes)
{
	const uint64_t enough = sent + bytes;

	wait_until("bytes of stream " + std::to_string(seed) + " come back",
		   [&] { return echoed >= enough || ended; });
	must_last();
}

void EchoStream::pause()
{
	idle = false;
	paused = true;
	wait_until("all bytes of stream " + std::to_string(seed) + " are back",
		   [&] { return (idle && echoed == sent) || ended; });
	must_last();
}

void EchoStream::finish()
{
	stopping = true;
	await_ending();
	if (error || !wrong.empty() || echoed != sent)
		fail(std::to_string(echoed) + " of " + std::to_string(sent) + " bytes came back");
	echoing.join();
}

int EchoStream::await_ending()
{
	wait_until("stream " + std::to_string(seed) + " ends", [&] { return ended.load(); });
	receiver.join();
	stopping = true;
	if (sender.joinable())
		sender.join();
	return error ? error : send_error.load();
}

std::string EchoStream::await_ending_there()
{
	try {
		echoing.join();
	} catch (const std::runtime_error &failure) {
		return failure.what();
	}
	return "";
}

} // namespace guest
