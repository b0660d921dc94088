import type { Constellation } from '@eligo/testkit';
import type { Random } from './random.ts';

/** Whom it kills; those that a confirm passes through more often. `connections` are the database's, killed on the server. */
const victims = [
  ...Array.from({ length: 6 }, () => 'checkout'),
  ...Array.from({ length: 4 }, () => 'gateway'),
  ...['connections', 'connections', 'nats', 'sandbox', 'webhooks', 'refunds', 'billing', 'catalog'],
];

/**
 * Kills one part after the other with SIGKILL, never one that is still coming up again, and none while nobody can be served: a kill that meets no
 * confirm shows nothing.
 */
export interface Killer {
  /** Kills some part that is up; resolves with its name. */
  strike(): Promise<string>;
  /** How often each has died. */
  readonly kills: Readonly<Record<string, number>>;
}

export function newKiller(eligo: Constellation, random: Random): Killer {
  const kills: Record<string, number> = {};
  const killedPids = new Map<string, number>();
  const pidOf = (name: string) => eligo.processes().find((part) => part.name === name)?.pid;
  const isUp = async (name: string) => {
    if (name === 'connections') return true;
    const pid = pidOf(name);
    return pid !== undefined && killedPids.get(name) !== pid && (await answers(eligo, name));
  };
  return {
    kills,
    async strike() {
      for (;;) {
        const name = random.pick(victims);
        const served = await Promise.all(['gateway', 'checkout', name].map(isUp));
        if (!served.every(Boolean)) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          continue;
        }
        if (name === 'connections') await killConnections(eligo);
        else {
          killedPids.set(name, pidOf(name) ?? 0);
          eligo.kill(name);
        }
        kills[name] = (kills[name] ?? 0) + 1;
        return name;
      }
    },
  };
}

async function answers(eligo: Constellation, name: string): Promise<boolean> {
  const admin = eligo.processes().find((part) => part.name === name)?.admin;
  if (!admin) return true;
  try {
    return (await fetch(new URL(name === 'sandbox' ? '/healthz' : '/readyz', admin))).ok;
  } catch (error) {
    // Nobody listens there at this moment.
    if (error instanceof TypeError) return false;
    throw error;
  }
}

// Half of what checkout has open: transactions are cut off wherever they are, COMMIT included.
async function killConnections(eligo: Constellation): Promise<void> {
  await eligo.database.admin(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and usename = 'eligo_checkout' and random() < 0.5`,
  );
}
