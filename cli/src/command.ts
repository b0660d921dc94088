import type { ParseArgsOptionsConfig } from 'node:util';

/** What a command has to say: one JSON object for programs, lines for people. */
export interface Outcome {
  readonly json: object;
  readonly lines: readonly string[];
  /** Whether what was asked about is not in order; 1 is the exit code then. */
  readonly failed?: boolean;
  /** Whether a part of what was asked about could not be looked at; 3 is the exit code then, unless it failed. */
  readonly incomplete?: boolean;
}

/** The options and words that a command was given, checked against what it takes. */
export interface Given {
  text(name: string): string | undefined;
  /** Throws when the option is missing. */
  needed(name: string): string;
  list(name: string): string[];
  flag(name: string): boolean;
  /** Whether to print JSON; then `say` prints nothing. */
  readonly asJson: boolean;
  /** Words after the command's name, one per name of `words`. */
  readonly words: readonly string[];
  /** Tells of progress while the command runs; kept out of the JSON. */
  readonly say: (text: string) => void;
  /** Tells of a long run's progress beside what it prints, also beside JSON. */
  readonly sayAside: (text: string) => void;
}

/** One command of the command line. */
export interface Command {
  /** `accounts create`. */
  readonly name: string;
  /** What stands after the name in the usage text. */
  readonly usage: string;
  readonly summary: string;
  /** Set if it changes nothing in a database itself. Every other command leaves a row in the audit log of each schema that it opens. */
  readonly readsOnly?: boolean;
  /** The option with which a command that reads only writes as well; it then leaves the same rows. */
  readonly writesWith?: string;
  /** Set if it reads only and shows records of accounts: it leaves the same rows. */
  readonly showsAccounts?: boolean;
  /** Set if it makes a login, which no login has to allow. */
  readonly logsIn?: boolean;
  readonly options: ParseArgsOptionsConfig;
  /** The words that must follow the name, in order: `KEY_ID`. */
  readonly words?: readonly string[];
  run(given: Given): Promise<Outcome>;
}

/** Something that the caller can put right: shown as it is, without a trace. */
export class UsageError extends Error {}
