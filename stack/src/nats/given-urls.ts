import { type ComponentName, perComponent } from '../components.ts';
import type { Variables } from '../environment.ts';

/** Where each component finds a NATS server that is not embedded: its own URL, whose user may do what it needs, or else the one of all. */
export function givenNatsUrls(
  shared: string,
  environment: Variables,
  onNews: (text: string) => void,
): (name: ComponentName) => string {
  const own = perComponent((name) => environment[`${name.toUpperCase()}_NATS_URL`] || undefined);
  const sharing = Object.entries(own).flatMap(([name, url]) => (url === undefined ? [name] : []));
  if (sharing.length > 0) {
    onNews(
      `${sharing.join(', ')} use the login of NATS_URL, which can publish and read all events; in production set ` +
        'CATALOG_NATS_URL, CHECKOUT_NATS_URL and so on, with the users of deploy/nats.conf',
    );
  }
  return (name) => own[name] ?? shared;
}
