// SPDX-License-Identifier: GPL-2.0
// Measures a stream socket the way programs use one: large writes, small writes,
// round trips, and connections that come and go. One process is the server, which
// serves any number of measurements; the other measures and prints the value.

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

constexpr int kIpprotoSmc = 256;

// The first message of a client, which tells the server what to do.
struct Request {
  uint32_t mode;  // Mode
  uint32_t size;  // bytes in a message
};

enum Mode : uint32_t { kSink, kEcho };

[[noreturn]] void Fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

  void Send(const void* data, size_t len) const {
    for (auto* p = static_cast<const char*>(data); len;) {
      ssize_t n = send(fd_, p, len, MSG_NOSIGNAL);
      if (n < 0) Fail("send");
      p += n;
      len -= n;
    }
  }

  // Returns false at the end of the stream.
  bool Receive(void* data, size_t len) const {
    for (auto* p = static_cast<char*>(data); len;) {
      ssize_t n = recv(fd_, p, len, 0);
      if (n < 0) Fail("recv");
      if (n == 0) return false;
      p += n;
      len -= n;
    }
    return true;
  }

 private:
  int fd_;
};

struct Endpoint {
  std::string host;
  std::string port;
  std::string protocol;  // tcp, smc or unix

  sockaddr_storage address{};
  socklen_t length = 0;
  int family = AF_INET;

  void Resolve() {
    if (protocol == "unix") {
      auto* un = reinterpret_cast<sockaddr_un*>(&address);
      un->sun_family = family = AF_UNIX;
      std::strncpy(un->sun_path, host.c_str(), sizeof(un->sun_path) - 1);
      length = sizeof(*un);
      return;
    }
    addrinfo hints{};
    addrinfo* found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (int rc = getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
      throw std::runtime_error(host + ": " + gai_strerror(rc));
    std::memcpy(&address, found->ai_addr, found->ai_addrlen);
    length = found->ai_addrlen;
    family = found->ai_family;
    freeaddrinfo(found);
  }

  Socket Create() const {
    int fd = socket(family, SOCK_STREAM, protocol == "smc" ? kIpprotoSmc : 0);
    if (fd < 0) Fail("socket");
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return Socket(fd);
  }

  Socket Connect() const {
    Socket sock = Create();
    if (connect(sock.fd(), reinterpret_cast<const sockaddr*>(&address), length)) Fail("connect");
    return sock;
  }
};

void ServeOne(Socket sock) {
  Request request{};
  if (!sock.Receive(&request, sizeof(request))) return;
  std::vector<char> buffer(std::max<uint32_t>(request.size, 1 << 16));
  if (request.mode == kEcho) {
    while (sock.Receive(buffer.data(), request.size)) sock.Send(buffer.data(), request.size);
    return;
  }
  while (recv(sock.fd(), buffer.data(), buffer.size(), 0) > 0) {
  }
  // Tells the client that its last byte arrived.
  sock.Send("", 1);
}

void Serve(const Endpoint& at) {
  if (at.protocol == "unix") unlink(at.host.c_str());
  Socket listener = at.Create();
  if (bind(listener.fd(), reinterpret_cast<const sockaddr*>(&at.address), at.length)) Fail("bind");
  if (listen(listener.fd(), 128)) Fail("listen");
  std::cout << "ready" << std::endl;
  for (;;) {
    int fd = accept(listener.fd(), nullptr, nullptr);
    if (fd < 0) Fail("accept");
    std::thread([fd] {
      try {
        ServeOne(Socket(fd));
      } catch (const std::exception& e) {
        std::cerr << "connection: " << e.what() << '\n';
      }
    }).detach();
  }
}

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A connection whose server knows what is wanted.
Socket Ask(const Endpoint& to, const Request& request) {
  Socket sock = to.Connect();
  sock.Send(&request, sizeof(request));
  return sock;
}

// Bytes per second of writes of @size bytes, until the last one was read.
double Throughput(const Endpoint& to, uint32_t size, double seconds) {
  Socket sock = Ask(to, {kSink, size});
  std::vector<char> buffer(size, 'x');
  auto start = Clock::now();
  uint64_t sent = 0;
  for (; Since(start) < seconds; sent += size) sock.Send(buffer.data(), size);
  shutdown(sock.fd(), SHUT_WR);
  char done;
  if (!sock.Receive(&done, 1)) throw std::runtime_error("the server did not confirm");
  return static_cast<double>(sent) / Since(start);
}

// Seconds for a message there and back.
double RoundTrip(const Endpoint& to, uint32_t size, double seconds) {
  Socket sock = Ask(to, {kEcho, size});
  std::vector<char> buffer(size, 'x');
  auto start = Clock::now();
  uint64_t count = 0;
  for (; Since(start) < seconds; count++) {
    sock.Send(buffer.data(), size);
    if (!sock.Receive(buffer.data(), size)) throw std::runtime_error("the server closed");
  }
  return Since(start) / static_cast<double>(count);
}

// Connections per second, each of which carries a request and, in a write of its own, one byte,
// which comes back.
double Connections(const Endpoint& to, double seconds) {
  auto start = Clock::now();
  uint64_t count = 0;
  for (; Since(start) < seconds; count++) {
    Socket sock = Ask(to, {kEcho, 1});
    char byte = 'x';
    sock.Send(&byte, 1);
    if (!sock.Receive(&byte, 1)) throw std::runtime_error("the server closed");
  }
  return static_cast<double>(count) / Since(start);
}

// Connections that write all the time, until they are destroyed.
class Writers {
 public:
  Writers(const Endpoint& to, unsigned number) : sent_(number) {
    for (unsigned i = 0; i < number; i++) sockets_.push_back(Ask(to, {kSink, kSize}));
    for (unsigned i = 0; i < number; i++) threads_.emplace_back([this, i] { Write(i); });
  }
  ~Writers() {
    // Ends a send() that waits, too.
    for (const Socket& sock : sockets_) shutdown(sock.fd(), SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns the number of bytes that each writer has written since the last call.
  std::vector<uint64_t> TakeSent() {
    std::vector<uint64_t> sent;
    for (std::atomic<uint64_t>& bytes : sent_) sent.push_back(bytes.exchange(0));
    return sent;
  }

 private:
  static constexpr uint32_t kSize = 65536;

  void Write(unsigned i) {
    std::vector<char> buffer(kSize, 'x');
    for (;;) {
      ssize_t n = send(sockets_[i].fd(), buffer.data(), buffer.size(), MSG_NOSIGNAL);
      if (n < 0) return;
      sent_[i] += n;
    }
  }

  std::vector<Socket> sockets_;
  std::vector<std::atomic<uint64_t>> sent_;
  std::vector<std::thread> threads_;
};

// Seconds that the median round trip takes beside connections that write all the time.
double Beside(const Endpoint& to, unsigned writers, uint32_t size, double seconds) {
  Writers others(to, writers);
  Socket sock = Ask(to, {kEcho, size});
  std::vector<char> buffer(size, 'x');
  std::vector<double> times;
  for (auto start = Clock::now(); Since(start) < seconds;) {
    auto sent = Clock::now();
    sock.Send(buffer.data(), size);
    if (!sock.Receive(buffer.data(), size)) throw std::runtime_error("the server closed");
    times.push_back(Since(sent));
  }
  auto median = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), median, times.end());
  return *median;
}

// Returns the bytes of the slowest writer, as a part of the mean of all writers.
double Share(const Endpoint& to, unsigned writers, double seconds) {
  Writers all(to, writers);
  // The first connections have the link for themselves.
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 4));
  all.TakeSent();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::vector<uint64_t> sent = all.TakeSent();
  double sum = 0;
  for (uint64_t bytes : sent) sum += static_cast<double>(bytes);
  return static_cast<double>(*std::min_element(sent.begin(), sent.end())) * writers / sum;
}

// Bytes per second of all writers together.
double Total(const Endpoint& to, unsigned writers, double seconds) {
  Writers all(to, writers);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 4));
  all.TakeSent();
  auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  double sum = 0;
  for (uint64_t bytes : all.TakeSent()) sum += static_cast<double>(bytes);
  return sum / Since(start);
}

// Seconds that @size bytes take one way, once a line of standard input tells to send them.
double Transfer(const Endpoint& to, uint32_t size) {
  Socket sock = Ask(to, {kSink, size});
  std::vector<char> buffer(size, 'x');
  std::cout << "connected" << std::endl;
  std::cin.get();
  auto start = Clock::now();
  sock.Send(buffer.data(), size);
  shutdown(sock.fd(), SHUT_WR);
  char done;
  if (!sock.Receive(&done, 1)) throw std::runtime_error("the server did not confirm");
  return Since(start);
}

std::atomic<bool> stopped;

// Seconds of the longest pause between messages that come back, until SIGTERM. One of them is under
// way at a time, or as many as the connection takes.
double Pause(const Endpoint& to, uint32_t size, bool many) {
  std::signal(SIGTERM, [](int) { stopped = true; });
  Socket sock = Ask(to, {kEcho, size});
  std::vector<char> message(size, 'x'), answer(size);
  std::jthread writer;
  double longest = 0;
  if (many)
    writer = std::jthread([&] {
      while (send(sock.fd(), message.data(), size, MSG_NOSIGNAL) > 0) {
      }
    });
  for (auto last = Clock::now(); !stopped; last = Clock::now()) {
    if (!many) sock.Send(message.data(), size);
    if (!sock.Receive(answer.data(), size)) throw std::runtime_error("the server closed");
    longest = std::max(longest, Since(last));
  }
  shutdown(sock.fd(), SHUT_RDWR);
  return longest;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures TCP, SMC and unix stream sockets"};
  Endpoint endpoint;
  std::string measure;
  uint32_t size = 65536;
  unsigned writers = 4;
  double seconds = 1;

  app.require_subcommand(1);
  app.add_option("--protocol", endpoint.protocol, "kind of socket")
      ->check(CLI::IsMember({"tcp", "smc", "unix"}))
      ->default_val("smc");
  app.add_option("--port", endpoint.port, "port")->default_val("5201");
  auto* server = app.add_subcommand("server", "serve measurements until killed");
  server->add_option("address", endpoint.host, "address, or path of a unix socket")->required();
  auto* client = app.add_subcommand("client", "measure once");
  client->add_option("address", endpoint.host, "the server's")->required();
  client->add_option("measure", measure, "what")
      ->check(CLI::IsMember({"throughput", "roundtrip", "connections", "beside", "share", "total",
                             "pause", "bulk-pause", "transfer"}))
      ->required();
  client->add_option("--size", size, "bytes in a message")->check(CLI::Range(1, 1 << 20));
  client->add_option("--writers", writers, "connections that write all the time")
      ->check(CLI::Range(1, 1000));
  client->add_option("--seconds", seconds, "for how long")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  try {
    endpoint.Resolve();
    if (*server) Serve(endpoint);
    double value = measure == "throughput"   ? Throughput(endpoint, size, seconds)
                   : measure == "roundtrip"  ? RoundTrip(endpoint, size, seconds)
                   : measure == "beside"     ? Beside(endpoint, writers, size, seconds)
                   : measure == "share"      ? Share(endpoint, writers, seconds)
                   : measure == "total"      ? Total(endpoint, writers, seconds)
                   : measure == "pause"      ? Pause(endpoint, size, false)
                   : measure == "bulk-pause" ? Pause(endpoint, size, true)
                   : measure == "transfer"   ? Transfer(endpoint, size)
                                             : Connections(endpoint, seconds);
    std::cout << value << std::endl;
  } catch (const std::exception& e) {
    std::cerr << "smc_bench: " << e.what() << '\n';
    return 1;
  }
}
