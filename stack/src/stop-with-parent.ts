// Loaded before a child's own code. A child whose parent was killed would keep its port and its leases without use.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
