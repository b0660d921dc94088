// Loaded before a child's own code. A child whose parent was killed would hold its port and its leases for nobody.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
