import { type Command, UsageError } from '../command.ts';
import { publicApi } from '../connect.ts';
import { scenarios } from '../scenarios.ts';

/** Causing events. */
export const triggerCommands: readonly Command[] = [
  {
    name: 'trigger',
    usage: 'EVENT',
    summary: `Triggers an event in test mode by making the API calls that cause it. Events: ${Object.keys(scenarios).join(', ')}.`,
    words: ['EVENT'],
    options: {},
    async run(given) {
      const event = given.words[0] ?? '';
      const scenario = Object.hasOwn(scenarios, event) ? scenarios[event] : undefined;
      if (!scenario)
        throw new UsageError(`Cannot trigger "${event}"; choose one of ${Object.keys(scenarios).join(', ')}`);
      const made = await scenario(publicApi());
      return {
        json: { event, ...made },
        lines: [`Triggered ${event}`, ...Object.entries(made).map(([name, id]) => `  ${name}  ${id}`)],
      };
    },
  },
];
