/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All code that depends on the kernel version. The rest of the module is written for the
 * newest version, and this file makes it work with the older ones, too.
 */
#ifndef SMC_COMPAT_H
#define SMC_COMPAT_H

#include <linux/dma-map-ops.h>
#include <linux/memcontrol.h>
#include <linux/net.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/inet_sock.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <net/tcp.h>

/* Since 6.11 the table argument of a sysctl handler is const. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define SMC_CTL_CONST
#else
#define SMC_CTL_CONST const
#endif

/* Since 6.6 a sysctl table has a size; before that an empty entry ended it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define register_net_sysctl_sz(net, path, table, size) register_net_sysctl(net, path, table)
#endif

/* Since 6.10 the arguments of accept() are in a structure. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define SMC_ACCEPT_ARGS		int accept_flags, bool accept_kern
#define SMC_ACCEPT_PASS		accept_flags, accept_kern
#define SMC_ACCEPT_FLAGS	accept_flags
#define SMC_ACCEPT_REPORT(empty)	((void)(empty))
#else
#define SMC_ACCEPT_ARGS		struct proto_accept_arg *accept_arg
#define SMC_ACCEPT_PASS		accept_arg
#define SMC_ACCEPT_FLAGS	((accept_arg)->flags)
/* Tells io_uring whether the accept queue is empty now. */
#define SMC_ACCEPT_REPORT(empty)	((void)((accept_arg)->is_empty = (empty)))
#endif

/* Get the next connection of a listening TCP socket, or NULL. */
static inline struct sock *smc_tcp_accept(struct sock *sk)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	int err;

	return sk->sk_prot->accept(sk, O_NONBLOCK, &err, false);
#else
	struct proto_accept_arg arg = { .flags = O_NONBLOCK };

	return sk->sk_prot->accept(sk, &arg);
#endif
}

/* Stable releases of 6.1 and 6.12 added the last argument of syn_recv_sock(); Kbuild detects it. */
#define SMC_SYN_RECV_BASE_ARGS							\
	const struct sock *sk, struct sk_buff *skb, struct request_sock *req,	\
	struct dst_entry *dst, struct request_sock *req_unhash, bool *own_req
#define SMC_SYN_RECV_BASE_PASS	sk, skb, req, dst, req_unhash, own_req
#ifdef SMC_HAS_OPT_CHILD_INIT
#define SMC_SYN_RECV_ARGS							\
	SMC_SYN_RECV_BASE_ARGS, void (*init)(struct sock *child, const struct sock *sk)
#define SMC_SYN_RECV_PASS	SMC_SYN_RECV_BASE_PASS, init
#else
#define SMC_SYN_RECV_ARGS	SMC_SYN_RECV_BASE_ARGS
#define SMC_SYN_RECV_PASS	SMC_SYN_RECV_BASE_PASS
#endif

/* Since 6.7 netlink has integer attributes of 4 bytes, or of 8 if the value needs them. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline int nla_put_uint(struct sk_buff *skb, int attrtype, u64 value)
{
	u32 small = value;

	return small == value ? nla_put(skb, attrtype, sizeof(small), &small) :
				nla_put(skb, attrtype, sizeof(value), &value);
}
#endif

/* Since 6.7 TCP has the authentication option (TCP-AO). */
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY	38
#define TCP_AO_DEL_KEY	39
#define TCP_AO_INFO	40
#define TCP_AO_REPAIR	42
#endif

/* Whether TCP signs its segments. The caller holds the socket lock. */
static inline bool smc_tcp_has_keys(const struct sock *sk)
{
#ifdef CONFIG_TCP_MD5SIG
	const struct tcp_md5sig_info *md5;

	md5 = rcu_dereference_protected(tcp_sk(sk)->md5sig_info, lockdep_sock_is_held(sk));
	/* md5sig_info stays allocated after the last key is removed. */
	if (md5 && !hlist_empty(&md5->head))
		return true;
#endif
#ifdef CONFIG_TCP_AO
	return rcu_access_pointer(tcp_sk(sk)->ao_info);
#else
	return false;
#endif
}

/* Since 6.6 defer_connect is one of the socket's atomic flags. */
static inline bool smc_connect_is_deferred(const struct sock *sk)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return inet_sk(sk)->defer_connect;
#else
	return inet_test_bit(DEFER_CONNECT, sk);
#endif
}

/* Since 6.12 a device has a separate flag for DMA through the IOMMU. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define use_dma_iommu(dev)	false
#else
#include <linux/iommu-dma.h>
#endif

/*
 * Whether the CPU has to synchronise memory that the device writes to, at @addr. dma_need_sync()
 * may return true for every device behind an IOMMU, although the IOMMU code copies only for
 * untrusted devices. So behind an IOMMU the answer depends only on whether the device is coherent
 * with the CPU's caches.
 */
static inline bool smc_dma_needs_sync(struct device *dev, dma_addr_t addr)
{
	if (get_dma_ops(dev) || use_dma_iommu(dev))
		return !dev_is_dma_coherent(dev);
	return dma_need_sync(dev, addr);
}

/* Stable releases of 6.12 added the last argument of __tcp_send_ack(); Kbuild detects it. */
static inline void smc_tcp_send_ack(struct sock *sk)
{
#ifdef SMC_HAS_ACK_FLAGS
	__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt, 0);
#else
	__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt);
#endif
}

/* Since 6.11 the kernel defines IPPROTO_SMC. */
#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

/*
 * Sends a page by TCP's sendpage(), which does not copy it. The socket stays locked from the last
 * call of @is_in_use until TCP sends, for the same reason as in smc_sendmsg_tcp().
 * Return: false if TCP is not connected, or SMC uses the socket; else @rc is the call's result.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline bool smc_tcp_sendpage(const struct proto_ops *tcp, struct socket *sock,
				    struct page *page, int offset, size_t size, int flags,
				    bool (*is_in_use)(const struct sock *sk), ssize_t *rc)
{
	struct sock *sk = sock->sk;
	bool is_tcps;

	if (is_in_use(sk))
		return false;
	/* A BPF map of sockets has a sendpage function of its own, which must see the bytes. */
	if (READ_ONCE(sk->sk_prot)->sendpage != tcp_sendpage) {
		*rc = tcp->sendpage(sock, page, offset, size, flags);
		return true;
	}
	sock_rps_record_flow(sk);
	lock_sock(sk);
	is_tcps = !is_in_use(sk) &&
		  ((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT));
	if (is_tcps)
		*rc = tcp->sendpage_locked(sk, page, offset, size, flags);
	release_sock(sk);
	return is_tcps;
}
#endif

/*
 * Does the work of SMC's sendpage(), which sendfile() and splice() call for each page up to 6.4.
 * Any socket but a connected one of TCP's gets the page by sendmsg(), which copies it. sendmsg()
 * does not know the flag that announces the next page, so MSG_MORE takes its place.
 */
static inline ssize_t smc_compat_sendpage(const struct proto_ops *tcp, struct socket *sock,
					  struct page *page, int offset, size_t size, int flags,
					  bool (*is_in_use)(const struct sock *sk))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	ssize_t rc;

	if (smc_tcp_sendpage(tcp, sock, page, offset, size, flags, is_in_use, &rc))
		return rc;
	if (flags & MSG_SENDPAGE_NOTLAST)
		flags |= MSG_MORE;
	return sock_no_sendpage(sock, page, offset, size, flags);
#else
	return -EOPNOTSUPP;
#endif
}

typedef ssize_t (*smc_sendpage_t)(struct socket *sock, struct page *page, int offset, size_t size,
				  int flags);

/* Since 6.5 sendfile() calls sendmsg() and then splice_eof(); before that it called sendpage(). */
static inline void smc_compat_ops(struct proto_ops *ops, smc_sendpage_t sendpage,
				  void (*splice_eof)(struct socket *sock))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	ops->sendpage = sendpage;
	ops->sendpage_locked = NULL;
#else
	ops->splice_eof = splice_eof;
#endif
}

static inline void smc_tcp_splice_eof(const struct proto_ops *tcp, struct socket *sock)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	tcp->splice_eof(sock);
#endif
}

typedef int (*smc_prot_ioctl_t)(struct sock *sk, int cmd, int *value);

/*
 * Replaces @prot's ioctl operation: since 6.7 io_uring calls that operation directly. Return: the
 * previous operation; NULL before 6.7.
 */
static inline smc_prot_ioctl_t smc_compat_prot_ioctl(struct proto *prot, smc_prot_ioctl_t ioctl)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return NULL;
#else
	smc_prot_ioctl_t before = prot->ioctl;

	prot->ioctl = ioctl;
	return before;
#endif
}

/*
 * Since 6.5 sendfile() sets this flag in its messages. Before that no message has the flag, whether
 * or not the kernel defines it: see smc_compat_ops().
 */
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0
#endif

/* A flag of SO_TIMESTAMPING since 6.12: no program can set it on older kernels. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define SOF_TIMESTAMPING_OPT_RX_FILTER	0
#endif

/* Up to 6.1 the directions of an iterator are called READ and WRITE. */
#ifndef ITER_DEST
#define ITER_DEST	READ
#define ITER_SOURCE	WRITE
#endif

/* Since 6.2 the kernel has mem_cgroup_tryget(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static inline bool mem_cgroup_tryget(struct mem_cgroup *memcg)
{
#ifdef CONFIG_MEMCG
	return !memcg || css_tryget(&memcg->css);
#else
	return true;
#endif
}
#endif

typedef unsigned long (*smc_shrink_t)(struct shrinker *shrinker, struct shrink_control *sc);

/* Since 6.7 the kernel allocates shrinkers. Return: NULL if there is no memory. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline struct shrinker *smc_shrinker_begin(const char *name, smc_shrink_t count,
						  smc_shrink_t scan)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
	if (!register_shrinker(shrinker, "%s", name))
		return shrinker;
	kfree(shrinker);
	return NULL;
}

static inline void smc_shrinker_end(struct shrinker *shrinker)
{
	if (shrinker)
		unregister_shrinker(shrinker);
	kfree(shrinker);
}
#else
static inline struct shrinker *smc_shrinker_begin(const char *name, smc_shrink_t count,
						  smc_shrink_t scan)
{
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker_register(shrinker);
	return shrinker;
}

static inline void smc_shrinker_end(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#endif

#endif
