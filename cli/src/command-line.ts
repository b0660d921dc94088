import { parseArgs } from 'node:util';
import { Failure } from '@eligo/failures';
import { type Command, type Given, type Outcome, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { runRecorded } from './recorded-command.ts';
import { visibleLine } from './visible-text.ts';

/** Where a command's words go. */
export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

/** Runs one command; resolves with the exit code: 0, 1 when it failed or found fault, 2 when it was asked wrongly, 3 when it could not look at all of it. */
export async function runCommandLine(args: string[], streams: Streams): Promise<number> {
  const isHelp = args.length === 0 || args[0] === 'help' || args.includes('--help');
  const words = args.filter((arg, at) => arg !== '--help' && arg !== '--json' && !(at === 0 && arg === 'help'));
  if (isHelp) return explain(words, streams);
  const command = findCommand(words);
  if (!command) {
    streams.err(`eligo: ${unknown(words)}`);
    return 2;
  }
  const asJson = args.includes('--json');
  const rest = words.slice(command.name.split(' ').length);
  try {
    const given = read(command, rest, asJson, streams);
    const outcome = await runRecorded(command, given, () => command.run(given));
    print(outcome, asJson, streams);
    return outcome.failed ? 1 : outcome.incomplete ? 3 : 0;
  } catch (error) {
    if (error instanceof UsageError) {
      streams.err(`eligo: ${error.message}\nusage: ${usageOf(command)}`);
      return 2;
    }
    streams.err(`eligo: ${wordsOf(error)}`);
    return 1;
  }
}

// The help of one command, of those that begin alike, or of all.
function explain(words: string[], { out, err }: Streams): number {
  const command = findCommand(words);
  if (command) out(`Usage: ${usageOf(command)}\n\n${command.summary}`);
  else if (words.length === 0) out(usage(commands));
  else if (alike(words).length > 0) out(usage(alike(words)));
  else {
    err(`eligo: ${unknown(words)}`);
    return 2;
  }
  return 0;
}

function unknown(words: string[]): string {
  if (alike(words).length > 0) return `"${words[0]}" needs a subcommand.\n${usage(alike(words))}`;
  return `Unknown command "${words.join(' ')}". Run npm run -s eligo -- help for a list.`;
}

function alike([first = '']: string[]): readonly Command[] {
  return commands.filter((command) => command.name.startsWith(`${first} `));
}

function findCommand(args: string[]): Command | undefined {
  return commands.find((command) => command.name === args.slice(0, command.name.split(' ').length).join(' '));
}

function read(command: Command, args: string[], asJson: boolean, { out, err }: Streams): Given {
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args, options: command.options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const wanted = command.words ?? [];
  if (positionals.length !== wanted.length) {
    throw new UsageError(
      wanted.length === 0 ? `Unexpected argument: ${positionals.join(' ')}` : `${wanted.join(' ')} is required`,
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
      if (!value) throw new UsageError(`--${name} is required`);
      return value;
    },
    list: (name) => [values[name] ?? []].flat().filter((value) => typeof value === 'string'),
    flag: (name) => values[name] === true,
    words: positionals,
    asJson,
    say: asJson ? () => undefined : (line) => out(visibleLine(line)),
    sayAside: err,
  };
}

function print(outcome: Outcome, asJson: boolean, streams: Streams): void {
  if (asJson) streams.out(visibleLine(JSON.stringify(outcome.json)));
  else for (const line of outcome.lines) streams.out(visibleLine(line));
}

function wordsOf(error: unknown): string {
  if (error instanceof Failure) {
    const details = (error.violations ?? []).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
    return [error.detail, ...details].join('\n  ');
  }
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

function usage(shown: readonly Command[]): string {
  const lines = shown.map((command) => `  ${`${command.name} ${command.usage}`.trim()}\n      ${command.summary}`);
  return ['Usage: npm run -s eligo -- <command> [--json]', '', ...lines].join('\n');
}

function usageOf(command: Command): string {
  return `npm run -s eligo -- ${command.name} ${command.usage}`.trim();
}
