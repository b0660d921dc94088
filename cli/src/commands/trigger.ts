import { type Command, UsageError } from '../command.ts';
import { publicApi } from '../connect.ts';
import { scenarios } from '../scenarios.ts';

/** Causing events. */
export const triggerCommands: readonly Command[] = [
  {
    name: 'trigger',
    usage: 'EVENT',
    summary: `Causes an event by doing, in test mode and through the public interface, what it follows from: ${Object.keys(scenarios).join(', ')}.`,
    words: ['EVENT'],
    options: {},
    async run(given) {
      const event = given.words[0] ?? '';
      const scenario = Object.hasOwn(scenarios, event) ? scenarios[event] : undefined;
      if (!scenario)
        throw new UsageError(`no way to cause ${event} is known; known are ${Object.keys(scenarios).join(', ')}`);
      const made = await scenario(publicApi());
      return {
        json: { event, ...made },
        lines: [`${event} was caused`, ...Object.entries(made).map(([name, id]) => `  ${name}  ${id}`)],
      };
    },
  },
];
