import type { Command } from '../command.ts';

/** The books. */
export const ledgerCommands: readonly Command[] = [];
