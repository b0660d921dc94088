/** The five services, in the order in which calls go down to them, last first: what others call starts first. */
export const serviceNames = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'] as const;

/** What holds a schema, a role, a key pair and a NATS user of its own: the services and the gateway. */
export const componentNames = [...serviceNames, 'gateway'] as const;

export type ComponentName = (typeof componentNames)[number];

/** A record with one entry per component. */
export function perComponent<Value>(make: (name: ComponentName) => Value): Record<ComponentName, Value> {
  return Object.fromEntries(componentNames.map((name) => [name, make(name)])) as Record<ComponentName, Value>;
}
