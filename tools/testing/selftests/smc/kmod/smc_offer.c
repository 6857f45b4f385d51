// SPDX-License-Identifier: GPL-2.0
/*
 * For tests only: lets a plain TCP socket carry the option that offers SMC in its SYN or
 * SYN-ACK, so that a program can play an SMC peer, well behaved or not.
 *
 * ioctl(open("/dev/smc_offer"), SMC_OFFER, fd) before the socket's connect() or listen().
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/tcp.h>

#define SMC_OFFER	_IO('S', 1)

static long smc_offer_ioctl(struct file *file, unsigned int cmd, unsigned long fd)
{
	struct socket *sock;
	int rc;

	if (cmd != SMC_OFFER)
		return -ENOTTY;
	sock = sockfd_lookup(fd, &rc);
	if (!sock)
		return rc;
	rc = -EINVAL;
	if (sk_is_tcp(sock->sk)) {
		lock_sock(sock->sk);
		tcp_sk(sock->sk)->syn_smc = 1;
		release_sock(sock->sk);
		rc = 0;
	}
	sockfd_put(sock);
	return rc;
}

static const struct file_operations smc_offer_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= smc_offer_ioctl,
};

static struct miscdevice smc_offer_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "smc_offer",
	.fops	= &smc_offer_fops,
	.mode	= 0600,
};

static int __init smc_offer_init(void)
{
	int rc = misc_register(&smc_offer_device);

	if (!rc)
		static_branch_inc(&tcp_have_smc);
	return rc;
}

static void __exit smc_offer_exit(void)
{
	static_branch_dec(&tcp_have_smc);
	misc_deregister(&smc_offer_device);
}

module_init(smc_offer_init);
module_exit(smc_offer_exit);

MODULE_DESCRIPTION("Test aid: offer SMC on plain TCP sockets");
MODULE_LICENSE("GPL");
