import { type Home, readJsonFile, writePrivateFile } from './home.ts';
import type { StackProcess } from './processes.ts';
import type { DemoAccount } from './seed.ts';

/** `stack.json`: how tools reach what runs. The file is its owner's alone, since keys and passwords stand in it. */
export interface StackFile {
  readonly gateway: string;
  /** All its replicas, that one first. */
  readonly gateways: readonly string[];
  readonly processor: string;
  readonly processor_key: string;
  readonly postgres: string;
  /** The name in the database's roles (`eligo_<installation>_<component>`); '' for roles without one (`eligo_<component>`). */
  readonly installation: string;
  readonly nats: string;
  /** Where mails are kept as files; '' where they are not. A stack of an earlier release has not written it. */
  readonly mail_folder?: string;
  readonly account: string;
  readonly test_api_key: string;
  readonly live_api_key: string;
  readonly processes: readonly StackProcess[];
}

/** Writes the file in one step. */
export function writeStackFile(
  home: Home,
  stack: {
    readonly url: string;
    readonly urls: readonly string[];
    readonly processor: { readonly url: string; readonly key: string };
    readonly postgres: string;
    readonly installation: string;
    readonly nats: string;
    readonly mailFolder: string;
    readonly demo: DemoAccount;
    readonly processes: readonly StackProcess[];
  },
): void {
  const file: StackFile = {
    gateway: stack.url,
    gateways: stack.urls,
    processor: stack.processor.url,
    processor_key: stack.processor.key,
    postgres: stack.postgres,
    installation: stack.installation,
    nats: stack.nats,
    mail_folder: stack.mailFolder,
    account: stack.demo.account,
    test_api_key: stack.demo.testApiKey,
    live_api_key: stack.demo.liveApiKey,
    processes: stack.processes,
  };
  writePrivateFile(home.stackFile, `${JSON.stringify(file, undefined, 2)}\n`);
}

/** The file of a home, or undefined when no stack was ever ready there. */
export function readStackFile(home: Home): StackFile | undefined {
  return readJsonFile(home.stackFile) as StackFile | undefined;
}
