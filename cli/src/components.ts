import { publicEventTypes } from '@eligo/contract';
import { busConsumers, busConsumerTypes, type ComponentName, componentNames } from '@eligo/stack';
import { UsageError } from './command.ts';

/** A consumer of one producer's events. */
export interface Consumption {
  readonly service: ComponentName;
  readonly consumer: string;
  readonly from: string;
  readonly types: readonly string[];
}

/** The component that an option names, or all of them when it is not given. */
export function componentsNamed(option: string, name: string | undefined): readonly ComponentName[] {
  if (name === undefined) return componentNames;
  const known = componentNames.filter((candidate) => candidate === name);
  if (known.length === 0) throw new UsageError(`--${option} must be one of ${componentNames.join(', ')}`);
  return known;
}

/** Every consumer of every producer, with the types that it takes. */
export function consumptions(): Consumption[] {
  return componentNames.flatMap((service) =>
    Object.entries(busConsumers[service] ?? {}).flatMap(([from, consumers]) =>
      consumers.map((consumer) => ({ service, consumer, from, types: typesOf(service, consumer) })),
    ),
  );
}

function typesOf(service: string, consumer: string): readonly string[] {
  const types = busConsumerTypes[`${service} ${consumer}`];
  if (types === 'public') return publicEventTypes;
  if (types === undefined) throw new Error(`Unknown consumer ${consumer} of ${service}`);
  return types;
}
