// SPDX-License-Identifier: GPL-2.0
#include "fuse_page.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <vector>

#include "system.h"

namespace guest
{

namespace
{

constexpr const char *mount_point = "/mnt", *file_name = "/mnt/page";
constexpr uint64_t file_node = FUSE_ROOT_ID + 1;

fuse_attr attributes(uint64_t node)
{
	fuse_attr attr = {};

	attr.ino = node;
	attr.nlink = 1;
	attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0444;
	attr.size = node == FUSE_ROOT_ID ? 0 : FusePage::size;
	return attr;
}

} // namespace

bool FusePage::is_there()
{
	return run_command("modprobe -q fuse").status == 0;
}

FusePage::FusePage() : device(open("/dev/fuse", O_RDWR | O_CLOEXEC))
{
	std::string options =
	    "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";

	if (device < 0)
		throw_errno("/dev/fuse");
	if (mount("page", mount_point, "fuse", 0, options.c_str()))
		throw_errno("mount of FUSE");
	server = std::thread(&FusePage::serve, this);

	Fd file(open(file_name, O_RDONLY | O_CLOEXEC));

	page = file < 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
	if (page == MAP_FAILED)
		throw_errno(file_name);
}

FusePage::~FusePage()
{
	/* Fails all pending requests, and so wakes the threads that sleep. */
	umount2(mount_point, MNT_FORCE);
	munmap(page, size);
	umount2(mount_point, MNT_DETACH);
	server.join();
}

void FusePage::await_touch()
{
	if (touched.wait_for(std::chrono::seconds(scaled(60))) != std::future_status::ready)
		throw std::runtime_error("nobody touches the page");
}

void FusePage::fill(char byte)
{
	std::string content(size, byte);

	answer(touched.get(), content.data(), content.size());
}

void FusePage::answer(uint64_t request, const void *body, size_t len, int error)
{
	fuse_out_header out = {
	    .len = uint32_t(sizeof(out) + len), .error = -error, .unique = request};
	iovec parts[] = {{&out, sizeof(out)}, {const_cast<void *>(body), len}};

	/* The request may have been cancelled meanwhile. */
	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		throw_errno("answer of a file system");
}

void FusePage::serve()
{
	std::vector<char> request(FUSE_MIN_READ_BUFFER + 65536);

	/* ENODEV: the file system is not mounted any more. */
	while (read(device, request.data(), request.size()) > 0 || errno == EINTR) {
		fuse_in_header in;

		memcpy(&in, request.data(), sizeof(in));
		switch (in.opcode) {
		case FUSE_INIT: {
			fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = 31};

			out.max_write = size;
			answer(in.unique, &out, sizeof(out));
			break;
		}
		case FUSE_LOOKUP: {
			fuse_entry_out out = {.nodeid = file_node, .attr = attributes(file_node)};

			answer(in.unique, &out, sizeof(out));
			break;
		}
		case FUSE_GETATTR: {
			fuse_attr_out out = {.attr = attributes(in.nodeid)};

			answer(in.unique, &out, sizeof(out));
			break;
		}
		case FUSE_OPEN: {
			fuse_open_out out = {};

			answer(in.unique, &out, sizeof(out));
			break;
		}
		case FUSE_READ:
			touch.set_value(in.unique);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			/* These requests need no answer. */
			break;
		case FUSE_FLUSH:
		case FUSE_RELEASE:
			answer(in.unique, nullptr, 0);
			break;
		default:
			answer(in.unique, nullptr, 0, ENOSYS);
		}
	}
}

} // namespace guest
