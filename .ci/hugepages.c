// SPDX-License-Identifier: GPL-2.0
/*
 * A library that .ci/parts preloads into compilers. It asks for huge pages, which Debian's kernels
 * give to a program that asks (transparent_hugepage=madvise). In a virtual machine small pages cost
 * a compiler a third of its time.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* GCC allocates by the megabyte. */
#define LARGE (1 << 20)

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *mem = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);

	if (mem != MAP_FAILED && (flags & MAP_ANONYMOUS) && len >= LARGE)
		madvise(mem, len, MADV_HUGEPAGE);
	return mem;
}
