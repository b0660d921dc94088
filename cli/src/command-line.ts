import { parseArgs } from 'node:util';
import { Failure } from '@eligo/failures';
import { type Command, type Given, type Outcome, UsageError } from './command.ts';
import { commands } from './commands.ts';

/** Where a command's words go. */
export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

/** Runs one command; resolves with the exit code: 0, 1 when it failed or found fault, 2 when it was asked wrongly. */
export async function runCommandLine(args: string[], streams: Streams): Promise<number> {
  const command = findCommand(args);
  if (!command) {
    const wanted = args.length === 0 || args[0] === 'help' || args.includes('--help');
    (wanted ? streams.out : streams.err)(usage(args));
    return wanted ? 0 : 2;
  }
  const rest = args.slice(command.name.split(' ').length);
  if (rest.includes('--help')) {
    streams.out(usageOf(command));
    return 0;
  }
  const asJson = rest.includes('--json');
  try {
    const given = read(command, rest, asJson ? () => undefined : streams.out);
    const outcome = await command.run(given);
    print(outcome, asJson, streams);
    return outcome.failed ? 1 : 0;
  } catch (error) {
    if (error instanceof UsageError) {
      streams.err(`eligo: ${error.message}\nusage: ${usageOf(command)}`);
      return 2;
    }
    streams.err(`eligo: ${wordsOf(error)}`);
    return 1;
  }
}

function findCommand(args: string[]): Command | undefined {
  return commands.find((command) => command.name === args.slice(0, command.name.split(' ').length).join(' '));
}

function read(command: Command, args: string[], say: (text: string) => void): Given {
  let parsed: ReturnType<typeof parseArgs>;
  try {
    const options = { ...command.options, json: { type: 'boolean' as const } };
    parsed = parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const wanted = command.words ?? [];
  if (positionals.length !== wanted.length) {
    throw new UsageError(
      wanted.length === 0 ? `unexpected: ${positionals.join(' ')}` : `${wanted.join(' ')} is needed`,
    );
  }
  const text = (name: string) => {
    const value = values[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    text,
    needed(name) {
      const value = text(name);
      if (!value) throw new UsageError(`--${name} is needed`);
      return value;
    },
    list: (name) => [values[name] ?? []].flat().filter((value) => typeof value === 'string'),
    flag: (name) => values[name] === true,
    words: positionals,
    say,
  };
}

function print(outcome: Outcome, asJson: boolean, streams: Streams): void {
  if (asJson) streams.out(JSON.stringify(outcome.json));
  else for (const line of outcome.lines) streams.out(line);
}

function wordsOf(error: unknown): string {
  if (error instanceof Failure) {
    const details = (error.violations ?? []).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
    return [error.detail, ...details].join('\n  ');
  }
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

function usage(args: string[]): string {
  const group = commands.filter((command) => command.name.startsWith(`${args[0]} `));
  const shown = group.length > 0 ? group : commands;
  const lines = shown.map((command) => `  ${`${command.name} ${command.usage}`.trim()}\n      ${command.summary}`);
  return ['usage: npm run -s eligo -- <command> [--json]', '', ...lines].join('\n');
}

function usageOf(command: Command): string {
  return `npm run -s eligo -- ${command.name} ${command.usage}`.trim();
}
