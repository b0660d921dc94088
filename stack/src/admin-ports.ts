import { reservePort } from '@eligo/ports';
import { componentNames } from './components.ts';
import { type Replicas, replicasOf } from './replicas.ts';

/** The first of the admin ports of `npm start`, unless `ADMIN_PORT` names another. */
export const defaultAdminPort = 9_001;

/**
 * The admin ports of a stack by the names of its replicas: one number after the other from `first` on, in the order of the components, and ten further for each further replica. A
 * number that is taken is left out, and told.
 */
export async function adminPorts(
  first: number,
  counts: Replicas,
  tellTaken: (name: string, port: number) => void,
): Promise<Map<string, number>> {
  const ports = new Map<string, number>();
  for (const [at, component] of componentNames.entries()) {
    for (const [copy, { name }] of replicasOf(component, counts).entries()) {
      const port = first + at + 10 * copy;
      if (port <= 65_535 && (await reservePort(port))) ports.set(name, port);
      else tellTaken(name, port);
    }
  }
  return ports;
}
