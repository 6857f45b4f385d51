// SPDX-License-Identifier: GPL-2.0
/*
 * A library that .ci/parts preloads into compilers. It asks for huge pages, which Debian's kernels
 * give to a program that asks (transparent_hugepage=madvise). In a virtual machine small pages cost
 * a compiler a third of its time.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* GCC allocates by the megabyte. */
#define LARGE (1 << 20)
/* Copying a smaller file costs more than its page faults. */
#define LARGE_FILE (16 << 20)

static void *map(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *mem = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);

	if (mem != MAP_FAILED && (flags & MAP_ANONYMOUS) && len >= LARGE)
		madvise(mem, len, MADV_HUGEPAGE);
	return mem;
}

static bool fill(char *mem, size_t len, int fd, off_t offset)
{
	while (len) {
		ssize_t got = pread(fd, mem, len, offset);

		if (got <= 0)
			return false;
		mem += got;
		len -= got;
		offset += got;
	}
	return true;
}

/* A precompiled header: GCC maps it to write into it, and huge pages aren't for files. */
static bool is_to_be_copied(size_t len, int prot, int flags, int fd)
{
	return fd >= 0 && len >= LARGE_FILE && (prot & PROT_READ) && (prot & PROT_WRITE) &&
	       (flags & MAP_PRIVATE) && !(flags & (MAP_ANONYMOUS | MAP_FIXED));
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *mem;

	if (!is_to_be_copied(len, prot, flags, fd))
		return map(addr, len, prot, flags, fd, offset);
	mem = map(addr, len, prot, flags | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || fill(mem, len, fd, offset))
		return mem;
	munmap(mem, len);
	return map(addr, len, prot, flags, fd, offset);
}
