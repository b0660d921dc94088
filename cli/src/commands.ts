import type { Command } from './command.ts';
import { accountCommands } from './commands/accounts.ts';
import { backupCommands } from './commands/backup.ts';
import { cardCommands } from './commands/cards.ts';
import { catalogCommands } from './commands/catalog.ts';
import { customerCommands } from './commands/customers.ts';
import { deadLetterCommands } from './commands/dead-letters.ts';
import { eventCommands } from './commands/events.ts';
import { guestCommands } from './commands/guests.ts';
import { keyCommands } from './commands/keys.ts';
import { ledgerCommands } from './commands/ledger.ts';
import { letterCommands } from './commands/letters.ts';
import { migrateCommands } from './commands/migrate.ts';
import { operatorCommands } from './commands/operators.ts';
import { reportCommands } from './commands/reports.ts';
import { secretCommands } from './commands/secrets.ts';
import { triggerCommands } from './commands/trigger.ts';
import { webhookCommands } from './commands/webhooks.ts';

/** Every command of the command line. */
export const commands: readonly Command[] = [
  ...accountCommands,
  ...keyCommands,
  ...operatorCommands,
  ...migrateCommands,
  ...backupCommands,
  ...catalogCommands,
  ...cardCommands,
  ...letterCommands,
  ...customerCommands,
  ...guestCommands,
  ...ledgerCommands,
  ...reportCommands,
  ...deadLetterCommands,
  ...eventCommands,
  ...webhookCommands,
  ...triggerCommands,
  ...secretCommands,
];
