# SPDX-License-Identifier: GPL-2.0
# "make help" says what there is.

# The kernel to build for: a release as in /lib/modules, "6.12", "6.1" or "debug".
KVER ?= $(shell uname -r)
O := $(CURDIR)/build
LAB := tools/lab/lab

RELEASE := $(or $(shell test -x $(LAB) && $(LAB) release $(KVER) 2>/dev/null),$(KVER))
KDIR := $(or $(shell test -x $(LAB) && $(LAB) kdir $(KVER) 2>/dev/null),/lib/modules/$(KVER)/build)
MODULE_SRC := $(O)/kbuild/$(RELEASE)
MODULE := $(O)/modules/$(RELEASE)/smc.ko

.PHONY: all
all: module

# Kernel builds write beside their sources: each kernel gets a copy of its own.
.PHONY: module
module:
	@mkdir -p $(MODULE_SRC) $(dir $(MODULE))
	@rsync -a --delete --include='*/' --include='*.[ch]' --include=Kbuild --exclude='*' \
		--filter='P *' Kbuild net include $(MODULE_SRC)/
	$(MAKE) -C $(KDIR) M=$(MODULE_SRC) $(KBUILD_FLAGS) modules
	@strip -g -o $(MODULE) $(MODULE_SRC)/net/smc/smc.ko
