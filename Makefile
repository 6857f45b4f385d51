# SPDX-License-Identifier: GPL-2.0
# "make help" says what there is.

# The kernel to build for: a release as in /lib/modules, "6.12", "6.1" or "debug".
KVER	?= $(shell uname -r)
O	?= build
# The kernel's makefiles, and those of the tools, run elsewhere.
override O := $(abspath $(O))

# The folders of "make install", each below DESTDIR: for programs, the library of smc_run, man
# pages, bash's completion, and modprobe's configuration; and the folder that has one of each
# kernel's modules.
PREFIX		?= /usr/local
BINDIR		?= $(PREFIX)/bin
LIBDIR		?= $(PREFIX)/lib
MANDIR		?= $(PREFIX)/share/man
COMPLETIONDIR	?= $(PREFIX)/share/bash-completion/completions
MODPROBEDIR	?= /lib/modprobe.d
KMODDIR		?= /lib/modules
# Takes debug information out of what is installed; empty: it stays.
STRIP		?= strip
ifneq ($(DESTDIR),)
override DESTDIR := $(abspath $(DESTDIR))
endif

LAB	:= tools/lab/lab
TESTS	:= tools/testing/selftests/smc
TOOLS	:= tools/smc tools/smc_run
FUZZ_RUNS ?= 20000000

# once VARIABLE,COMMAND: the output of a command that runs when it is first needed.
once	= $(eval $(1) := $$(shell $(2)))$($(1))
RELEASE	= $(call once,RELEASE,$(LAB) release $(KVER) 2>/dev/null || echo $(KVER))
KDIR	= $(call once,KDIR,$(LAB) kdir $(KVER) 2>/dev/null || echo /lib/modules/$(KVER)/build)
SRC	= $(O)/kbuild/$(RELEASE)
MODULE	= $(O)/modules/$(RELEASE)/smc.ko
MODCONF	= $(DESTDIR)$(MODPROBEDIR)/smc.conf
INSTALL_TO = DESTDIR='$(DESTDIR)' BINDIR='$(BINDIR)' LIBDIR='$(LIBDIR)' MANDIR='$(MANDIR)' \
	COMPLETIONDIR='$(COMPLETIONDIR)' STRIP='$(STRIP)'

# Targets that build or install name the packages that they lack. These targets install them.
INSTALLING := $(if $(NODEPS),,$(filter deps deps-% demo bench docs lint fuzz soak check%,$(MAKECMDGOALS)))
DEPS	= O=$(O) tools/install/deps $(if $(INSTALLING),,--check)

# Independent things side by side, as many as there are processors, unless -j says.
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

.DEFAULT_GOAL := all
.PHONY: help all module tools install uninstall deps check check-fast check-long check-debug \
	check-programs lint fuzz soak demo bench docs clean

help:
	@echo 'Usage: make [TARGET] [KVER=KERNEL] [O=DIR] [V=1]'
	@echo
	@echo 'KERNEL: a release as in /lib/modules (the running one), 6.12, 6.1 or debug'
	@echo 'DIR: where everything is built (build)'
	@echo
	@echo '  all          the module and the tools (default)'
	@echo '  module       smc.ko for KVER, into $$O/modules/RELEASE'
	@echo '  tools        smc, smc_run and its library, into $$O/tools'
	@echo '  install      the module, tools and man pages; DESTDIR, PREFIX=/usr/local'
	@echo '  uninstall    take them away again'
	@echo
	@echo '  demo         Redis and iperf3, over TCP and over SMC, between guests and in one'
	@echo '  bench        TCP, unix sockets, the in-tree module, raw RDMA and this, compared'
	@echo '  check        what every change has to pass: wire formats, headers, lint, guests with'
	@echo '               6.12, the core of that on 6.1 and on the debug kernel'
	@echo '  check-fast   while a change is made: 6.12, lint, wire formats, a few tests in guests'
	@echo '  check-long   what check leaves out: all guest tests within one guest, and on 6.1,'
	@echo '               the lab'\''s own test, the demo'
	@echo '  check-debug  the guest tests on a kernel with KASAN, lockdep and kmemleak'
	@echo '  check-programs  other people'\''s tests and servers, over TCP and by tcp2smc'
	@echo '  check-debian13, check-debian12'
	@echo '               the demo and the core of check on a fresh Debian of that release'
	@echo '  check-reproducible  two builds in two folders are the same'
	@echo '  lint         W=1 and sparse for 6.12 and 6.1, checkpatch, kernel-doc, clang-format, layers,'
	@echo '               shellcheck, codespell, man pages, licences'
	@echo '  soak         compares random calls with what TCP answers, and plays hostile peers,'
	@echo '               until it is interrupted or for SOAK_SECONDS'
	@echo '  fuzz         the fuzzers of the wire formats for longer (FUZZ_RUNS=$(FUZZ_RUNS))'
	@echo
	@echo '  docs         Documentation/ as HTML, into $$O/docs'
	@echo '  deps         install the Debian packages that all this needs'
	@echo '  clean        remove $$O (kernels for guests stay, in ~/.cache/smc-lab)'
	@echo
	@echo 'Where install puts things, each below DESTDIR (none):'
	@echo '  PREFIX=$(PREFIX)  BINDIR=$(BINDIR)  LIBDIR=$(LIBDIR)'
	@echo '  COMPLETIONDIR=$(COMPLETIONDIR)'
	@echo '  MANDIR=$(MANDIR)  MODPROBEDIR=$(MODPROBEDIR)  KMODDIR=$(KMODDIR)'
	@echo '  STRIP=$(STRIP)  (empty: leave debug information in the programs)'
	@echo
	@echo 'all, module, tools and install never install packages: they say what is missing.'
	@echo 'WERROR= lets the tests be built although a newer compiler has more warnings.'
	@echo 'demo, bench, check*, lint, fuzz, soak, docs and deps install it, as root or by sudo;'
	@echo 'with NODEPS=1 they, too, only say it.'

# Each kind of work has its list of packages; see tools/install/deps.
.PHONY: deps-build
deps-build: deps-module deps-tools
deps_kinds := $(addprefix deps-,module tools lab test python bench docs debian)
.PHONY: $(deps_kinds)
$(deps_kinds): deps-%:
	@$(DEPS) $*

deps:
	@$(DEPS) module headers tools lab test python bench docs debian

all: module tools

# binutils load what plugins there are for each file, and LLVM's has a hundred megabytes.
NM	= nm --plugin=none

# Nothing but types for BPF is made of debugging information. They need the kernel's own, and tests
# do without: KBUILD_FLAGS=CONFIG_DEBUG_INFO_BTF_MODULES=
BTF	= $(and $(wildcard $(KDIR)/vmlinux),$(if $(filter %_BTF_MODULES=,$(KBUILD_FLAGS)),,y))

# The same module wherever and whenever it is built: without the path in what smc.mod.c compiles to,
# which the build ID counts, and without threads in pahole, which Kbuild takes from the time stamp.
REPRODUCIBLE = KCFLAGS='$(KCFLAGS) $(if $(BTF),,-g0) -ffile-prefix-map=$(SRC)/=' \
	KBUILD_BUILD_TIMESTAMP=1970-01-01

# Kernel builds write beside their sources: each kernel gets a copy of its own.
module: deps-module
	@test -e $(KDIR)/Makefile || { echo 'No headers of kernel $(RELEASE). On Debian:' \
		'$(if $(filter 6.12 6.1 debug,$(KVER)),$(LAB) fetch $(KVER),apt-get install \
		linux-headers-$(RELEASE))' >&2; exit 1; }
	@mkdir -p $(SRC) $(dir $(MODULE))
	@rsync -a --delete --filter='P unity-*.c' --include='*/' --include='*.[ch]' --include=Kbuild \
		--exclude='*' --filter='P *' Kbuild net include $(SRC)/
	$(if $(V),,@)$(MAKE) $(if $(V),,--no-print-directory) -C $(KDIR) O= M=$(SRC) \
		NM='$(NM)' $(REPRODUCIBLE) $(KBUILD_FLAGS) modules
	@test $(MODULE) -nt $(SRC)/net/smc/smc.ko || strip -g -o $(MODULE) $(SRC)/net/smc/smc.ko
	@echo "  $(MODULE)"

.PHONY: $(TOOLS)
tools: $(TOOLS)
$(TOOLS): deps-tools
	@$(MAKE) --no-print-directory -C $@ O=$(O)

# In updates/ because modprobe prefers it to the kernel's own modules.
install: all
	install -D -m 644 $(MODULE) '$(DESTDIR)$(KMODDIR)/$(RELEASE)/updates/smc.ko'
	install -D -m 644 tools/install/modprobe.conf '$(MODCONF)'
	$(if $(DESTDIR),,depmod $(RELEASE))
	@for tool in $(TOOLS); do \
		$(MAKE) --no-print-directory -C $$tool O=$(O) $(INSTALL_TO) install || exit; \
	done
	@test "$(RELEASE)" = "$$(uname -r)" || \
		echo "Installed for $(RELEASE), which is not the running kernel."

# Of every kernel, and as often as one likes.
uninstall:
	@for module in '$(DESTDIR)$(KMODDIR)'/*/updates/smc.ko; do \
		[ -e "$$module" ] || continue; \
		updates=$${module%/smc.ko} release=$${module%/updates/smc.ko}; \
		echo "rm $$module"; \
		rm "$$module" && rmdir --ignore-fail-on-non-empty "$$updates" && \
			$(if $(DESTDIR),true,depmod "$${release##*/}") || exit; \
	done
	rm -f '$(MODCONF)'
	@for tool in $(TOOLS); do \
		$(MAKE) --no-print-directory -C $$tool O=$(O) $(INSTALL_TO) uninstall || exit; \
	done
	@test "$(DESTDIR)" || test ! -e /sys/module/smc/version || \
		echo 'The module is still loaded: "modprobe -r smc", once no socket uses it.'

# Parts of the tests: see .ci/parts.
CHECK	:= lint sparse docs install wire uapi selftest scripts guest interop links within-basic \
	within-host-basic tenants core-6.1 core-debug
CHECK_FAST := lint sparse wire smoke
CHECK_LONG := sparse-6.1 scripts-tree selftest-all demo within within-host guest-smp interop-smp \
	tenants-scale guest-6.1 within-6.1 links-all links-random links-ours-tree links-tree-ours \
	ports-ours-tree ports-tree-ours fuzz-debug reproducible tidy tidy-tests debian13
CHECK_DEBUG := selftest-debug guest-debug within-debug within-host-debug interop-debug links-debug

# By one apt-get: what comes after each takes as long as the packages.
.PHONY: deps-check
deps-check:
	@$(DEPS) module tools lab test $(DEPS_MORE)
check: DEPS_MORE = docs
check check-fast check-long check-debug lint soak: deps-check
check-long: deps-debian
check:
	@O=$(O) .ci/run $(CHECK)

check-fast:
	@O=$(O) .ci/run $(CHECK_FAST)

check-long:
	@O=$(O) .ci/run $(CHECK_LONG)

check-debug:
	@O=$(O) .ci/run $(CHECK_DEBUG)

soak:
	@O=$(O) .ci/run soak-host soak-netns soak-rdma soak-rogue soak-rogue-host

check-programs: deps-build deps-lab deps-test deps-python tools
	@tools/lab/lab fetch 6.12
	@$(MAKE) --no-print-directory module KVER=6.12
	@O=$(O) $(TESTS)/programs/run

lint:
	@O=$(O) .ci/run module-6.12 module-6.1 sparse sparse-6.1 lint

fuzz: deps-test
	@$(MAKE) --no-print-directory -C $(TESTS)/wire check O=$(O)/wire FUZZ_RUNS=$(FUZZ_RUNS) \
		FUZZ_SEED=0

check-reproducible: deps-build deps-lab
check-debian12 check-debian13: deps-debian
.PHONY: check-debian12 check-debian13 check-reproducible
check-debian12 check-debian13 check-reproducible: check-%:
	@O=$(O) .ci/run $*

demo: deps-build deps-lab tools
	@O=$(O) tools/demo/demo

bench: deps-build deps-lab deps-bench tools
	@$(MAKE) --no-print-directory -C tools/bench O=$(O)
	@O=$(O) tools/bench/bench

docs: deps-docs
	sphinx-build -q -W -n -b html Documentation $(O)/docs
	@echo "  $(O)/docs/index.html"

clean:
	rm -rf $(O)
