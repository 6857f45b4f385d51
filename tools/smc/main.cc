// SPDX-License-Identifier: GPL-2.0
/* smc: configure and monitor AF_SMC sockets. See smc(8). */
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "config.h"
#include "diag.h"
#include "display.h"
#include "netlink.h"
#include "objects.h"

namespace {

enum Exit { OK, REFUSED, USAGE, NOT_THERE };

using Print = std::function<void(const Json&)>;

class Program {
 public:
  Program() {
    app.require_subcommand(1);
    app.fallthrough();
    app.add_flag("-j,--json", json, "Print JSON");
    app.set_version_flag("-V,--version", "smc " SMC_VERSION);

    add_eid();
    add_seid();
    add_pnet();
    add_limit();
    add_blackhole();
    show("info", "What this host speaks", info, print_object);
    show("dev", "Devices", devices, print_devices);
    show("group", "Link groups", groups, print_groups);
    show("link", "Links", links, print_links);
    show("sock", "Sockets", dump_sockets, print_sockets);
    show("stats", "Counters", stats, print_object);
    show("fallbacks", "Why connections are TCP", fallbacks, print_fallbacks);
  }

  int run(int argc, char** argv) {
    try {
      app.parse(argc, argv);
      action();
      return flush();
    } catch (const CLI::Success& e) {
      app.exit(e);
      return flush();
    } catch (const CLI::ParseError& e) {
      return refuse(e);
    } catch (const UsageError& e) {
      return fail(e, USAGE);
    } catch (const NotThere& e) {
      return fail(e, NOT_THERE);
    } catch (const std::exception& e) {
      return fail(e, REFUSED);
    }
  }

 private:
  static int flush() {
    if (std::cout.flush()) return OK;
    std::cerr << "smc: cannot write: " << std::strerror(errno) << '\n';
    return REFUSED;
  }

  /* Reports an unknown command, for which CLI11 would only report that a command is missing. */
  int refuse(const CLI::ParseError& e) {
    std::vector<std::string> extra = app.remaining();
    std::string what = e.what();
    if (app.get_subcommands().empty() && !extra.empty())
      what = (extra[0][0] == '-' ? "unknown option '" : "there is no command '") + extra[0] + "'";
    std::cerr << "smc: " << what << "\nRun with --help for more information.\n";
    return USAGE;
  }

  static int fail(const std::exception& e, Exit status) {
    std::cerr << "smc: " << e.what() << '\n';
    return status;
  }

  static void print_object(const Json& object) { print_tree(object); }

  static void print_lines(const Json& objects, const char* name) {
    for (const Json& object : objects)
      if (object.contains(name)) std::cout << object[name].get<std::string>() << '\n';
  }

  /* Adds names of SMC-D devices, which the kernel reports in place of a PCI address. */
  static Json with_names(Json devices) {
    for (Json& device : devices)
      if (device["path"] == "SMC-D") device["name"] = device.value("pci-id", "");
    return devices;
  }

  static void print_devices(const Json& devices) {
    print_table(
        {
            {"PATH", "/path"},
            {"NAME", "/name"},
            {"PNETID", "/port1/pnetid"},
            {"ACTIVE", "/port1/active"},
            {"NETDEV", "/port1/netdev"},
            {"LINKS", "/port1/links"},
            {"PCI", "/pci-id"},
        },
        with_names(devices));
  }

  static void print_groups(const Json& groups) {
    print_table(
        {
            {"PATH", "/path"},
            {"ID", "/id"},
            {"ROLE", "/role"},
            {"TYPE", "/type"},
            {"VERSION", "/v2/version"},
            {"CONNS", "/conns"},
            {"PNETID", "/pnetid"},
            {"PEER", "/v2/peer-host"},
            {"EID", "/v2/eid"},
            {"LAST-LOSS", "/lost-reason"},
        },
        groups);
  }

  static void print_links(const Json& links) {
    print_table(
        {
            {"GROUP", "/group"},
            {"LINK", "/id"},
            {"STATE", "/state"},
            {"AGE", "/state-age"},
            {"CONNS", "/conns"},
            {"DEVICE", "/device"},
            {"PORT", "/port"},
            {"NETDEV", "/netdev"},
            {"GID", "/gid"},
            {"PEER-GID", "/peer-gid"},
        },
        links);
  }

  static void print_sockets(const Json& sockets) {
    print_table(
        {
            {"STATE", "/state"},
            {"MODE", "/mode"},
            {"LOCAL", "/local"},
            {"PEER", "/peer"},
            {"ROLE", "/group/role"},
            {"DEVICE", "/group/device"},
            {"LINK", "/group/link"},
            {"TOKEN", "/connection/token"},
            {"RMBE", "/element/index"},
            {"SIZE", "/connection/rmbe"},
            {"PEER-RMBE", "/element/peer-index"},
            {"PEER-SIZE", "/connection/peer-rmbe"},
            {"REASON", "/fallback/reason"},
        },
        sockets);
  }

  static void print_fallbacks(const Json& all) {
    print_table({{"ROLE", "/role"}, {"COUNT", "/count"}, {"CODE", "/code"}, {"REASON", "/reason"}},
                all["reasons"]);
    std::cout << "total: client " << all["client-total"] << ", server " << all["server-total"]
              << '\n';
  }

  void output(const Json& value, const Print& print) const {
    if (json)
      std::cout << value.dump(2) << '\n';
    else
      print(value);
  }

  /* Adds an object whose only command is "show". */
  void show(const char* name, const char* help, const std::function<Json()>& get,
            const Print& print) {
    CLI::App* object = app.add_subcommand(name, help);
    object->add_subcommand("show", "Show (without a command, too)");
    object->require_subcommand(0, 1);
    object->final_callback([=, this] { action = [=, this] { output(get(), print); }; });
  }

  CLI::App* verb(CLI::App* object, const char* name, const char* help,
                 const std::function<void()>& run) {
    CLI::App* sub = object->add_subcommand(name, help);
    sub->final_callback([=, this] { action = run; });
    return sub;
  }

  /* Adds an object with several commands. The default is "show". */
  CLI::App* object(const char* name, const char* help, const std::function<Json()>& get,
                   const Print& print) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->require_subcommand(0, 1);
    auto run = [=, this] { output(get(), print); };
    sub->parse_complete_callback([=, this] { action = run; });
    verb(sub, "show", "Show (without a command, too)", run);
    return sub;
  }

  void add_eid() {
    CLI::App* eid = object("eid", "User-defined enterprise IDs", eid_show,
                           [](const Json& eids) { print_lines(eids, "eid"); });
    verb(eid, "add", "Add one", [this] { eid_add(name); })
        ->add_option("EID", name, "1 to 32 of A-Z 0-9 . -")
        ->required();
    verb(eid, "del", "Delete one", [this] { eid_del(name); })->add_option("EID", name)->required();
    verb(eid, "flush", "Delete all", eid_flush);
  }

  void add_seid() {
    CLI::App* seid =
        object("seid", "System enterprise ID (IBM Z)", seid_show, [](const Json& seids) {
          print_table({{"SEID", "/seid"}, {"ENABLED", "/enabled"}}, seids);
        });
    verb(seid, "on", "Use it", [] { seid_set(true); });
    verb(seid, "off", "Do not use it", [] { seid_set(false); });
  }

  void add_pnet() {
    CLI::App* pnet =
        object("pnet", "Physical networks of devices", pnet_show, [](const Json& entries) {
          print_table({{"PNETID", "/pnetid"}, {"DEV", "/dev"}, {"IB", "/ib"}, {"PORT", "/port"}},
                      entries);
        });
    CLI::App* add = verb(pnet, "add", "Add devices", [this] { pnet_add(name, words); });
    add->add_option("PNETID", name, "1 to 16 letters and digits")->required();
    add->add_option("DEVICE", words, "dev NAME, ib NAME [port NUMBER], or both")->required();
    verb(pnet, "del", "Delete a network", [this] { pnet_del(name); })
        ->add_option("PNETID", name)
        ->required();
    verb(pnet, "flush", "Delete all", pnet_flush);
  }

  void add_limit() {
    CLI::App* limit =
        object("limit", "TCP instead of waiting for handshakes", limit_show, print_object);
    verb(limit, "on", "Limit handshakes", [] { limit_set(true); });
    verb(limit, "off", "Do not", [] { limit_set(false); });
  }

  static void print_blackholes(const Json& all) {
    print_table(
        {
            {"WHAT", "/what"},
            {"ADDRESS", "/address"},
            {"PORT", "/port"},
            {"UID", "/uid"},
            {"GID", "/gid"},
            {"AGE", "/age"},
            {"LEFT", "/left"},
        },
        all);
  }

  void add_blackhole() {
    CLI::App* blackhole =
        object("blackhole", "Peers that SMC is kept from", blackhole_show, print_blackholes);
    verb(blackhole, "flush", "Forget all", blackhole_flush);
  }

  CLI::App app{"Configure and watch AF_SMC sockets", "smc"};
  bool json = false;
  std::string name;
  std::vector<std::string> words;
  std::function<void()> action;
};

}  // namespace

int main(int argc, char** argv) { return Program().run(argc, argv); }
