import { type ComponentName, componentNames, perComponent } from '../components.ts';
import type { Variables } from '../environment.ts';

/** The variable with a component's own URL of NATS. */
export function natsVariableOf(name: ComponentName): string {
  return `${name.toUpperCase()}_NATS_URL`;
}

/** Throws if a component has a NATS server of its own and there is none to fall back on: the embedded server knows no such users. */
export function refuseUrlsWithoutShared(environment: Variables): void {
  const given = componentNames.map(natsVariableOf).filter((variable) => environment[variable]);
  if (given.length === 0) return;
  throw new Error(
    `${given.join(', ')} need NATS_URL: set it to the same server, or remove them to use the embedded one`,
  );
}

/** Where each component finds a NATS server that is not embedded: its own URL, whose user may do what it needs, or else the one of all. */
export function givenNatsUrls(
  shared: string,
  environment: Variables,
  onNews: (text: string) => void,
): (name: ComponentName) => string {
  const own = perComponent((name) => environment[natsVariableOf(name)] || undefined);
  const sharing = Object.entries(own).flatMap(([name, url]) => (url === undefined ? [name] : []));
  if (sharing.length > 0) {
    onNews(
      `${sharing.join(', ')} use the login of NATS_URL, which can publish and read all events; in production set ` +
        'CATALOG_NATS_URL, CHECKOUT_NATS_URL and so on, with the users of deploy/nats.conf',
    );
  }
  return (name) => own[name] ?? shared;
}
