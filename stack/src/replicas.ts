import { type ComponentName, componentNames } from './components.ts';

/** How many processes of a component run side by side; one unless it is named. */
export type Replicas = Readonly<Partial<Record<ComponentName, number>>>;

/** One of the processes of a component. */
export interface Replica {
  readonly component: ComponentName;
  /** The component's name for the first, `checkout-2` for the second. */
  readonly name: string;
}

/** As many as a machine on which one tries this out can bear. */
const maxReplicas = 8;

/** Reads `checkout=2` or `checkout=2,gateway=2`, given once or several times. */
export function readReplicas(texts: readonly string[]): Replicas {
  const replicas: Partial<Record<ComponentName, number>> = {};
  for (const text of texts.flatMap((given) => given.split(','))) {
    const [, name, digits] = /^([a-z]+)=(\d)$/.exec(text.trim()) ?? [];
    const component = componentNames.find((one) => one === name);
    const count = Number(digits);
    if (component === undefined || !(count >= 1 && count <= maxReplicas)) {
      throw new Error(
        `Invalid --replicas "${text}"; use checkout=2: one of ${componentNames.join(', ')} and a number from 1 to ${maxReplicas}`,
      );
    }
    replicas[component] = count;
  }
  return replicas;
}

/** All processes of all components, in the order of the components. */
export function allReplicas(replicas: Replicas): Replica[] {
  return componentNames.flatMap((component) => replicasOf(component, replicas));
}

/** The processes of one component. */
export function replicasOf(component: ComponentName, replicas: Replicas): Replica[] {
  return Array.from({ length: replicas[component] ?? 1 }, (_, at) => ({
    component,
    name: at === 0 ? component : `${component}-${at + 1}`,
  }));
}
