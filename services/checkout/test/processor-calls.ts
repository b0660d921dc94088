import type { ProcessorPort } from '@eligo/processor';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';

/** What of the port no flow writes with. A new member of it is added here, or to the table: else this does not compile. */
type Elsewhere =
  | ('name' | 'processorAccount' | 'account' | 'asksForParts' | 'refundsByCapture' | 'isDown' | 'testBank')
  // Faults of these: packages/processor/test/faults.test.ts, and set-up-authentication.test.ts, recovery.test.ts and disputes.test.ts of the services.
  | ('createPaymentMethod' | 'detachPaymentMethod' | 'cancelSetupIntent' | 'createRefund')
  | ('updateDispute' | 'uploadEvidence' | 'closeDispute')
  | Extract<keyof ProcessorPort, `retrieve${string}` | `find${string}` | `list${string}`>;

/** The calls of the port by which checkout moves or promises money, by their names at the processor. A flow may make no other call that writes. */
export const writes = {
  createCustomer: 'customers.create',
  attachPaymentMethod: 'payment_methods.attach',
  createIntent: 'payment_intents.create',
  confirmIntent: 'payment_intents.confirm',
  captureIntent: 'payment_intents.capture',
  cancelIntent: 'payment_intents.cancel',
  createSetupIntent: 'setup_intents.create',
  confirmSetupIntent: 'setup_intents.confirm',
} as const satisfies Record<Exclude<keyof ProcessorPort, Elsewhere>, string>;
/** Reads, which a flow makes on its way, or where an answer was lost. */
export const reads = {
  retrieveConfirmationToken: 'confirmation_tokens.retrieve',
  retrieveIntent: 'payment_intents.retrieve',
  retrieveCharge: 'charges.retrieve',
  retrievePaymentMethod: 'payment_methods.retrieve',
  retrieveSetupIntent: 'setup_intents.retrieve',
} as const satisfies Partial<Record<keyof ProcessorPort, string>>;
/** Both. */
export const names: Readonly<Record<string, string>> = { ...writes, ...reads };
type Write = (typeof writes)[keyof typeof writes];
type Read = (typeof reads)[keyof typeof reads];

/** A flow at the processor: what leads to it, the step whose calls fail, and how everything stands once the step was carried out. */
export interface Flow {
  readonly name: string;
  /** The writes of its step, in their order, where nothing fails. */
  readonly calls: readonly Write[];
  /** The reads of its step, likewise. */
  readonly reads?: readonly Read[];
  begin(): Promise<Step>;
}

export interface Step {
  readonly session: Session | undefined;
  /** Asked again after a failure, under the same key where it has one. */
  run(context: Context): Promise<unknown>;
  /** What the session's status is afterwards, and what was taken of its cards, the smallest first. */
  readonly after: { readonly status: string; readonly taken: readonly number[]; readonly held?: boolean };
}
