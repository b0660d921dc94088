import { approve } from '../api/intent-confirmation.ts';
import { usablePaymentMethod } from '../api/payment-methods.ts';
import type { Call } from '../api/route.ts';
import { confirmSetupIntent } from '../api/setup-intents.ts';
import { invalidRequest, missingRecord } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { Write } from '../store/group-commit.ts';
import type { LastError, PaymentMethodRecord } from '../store/record-types.ts';
import type { Records } from '../store/records.ts';

/** What the bank of a card does with its shopper. */
export interface Bank {
  /** The shopper passes the bank's check, or fails it; answers with the intent as it then is. */
  authenticate(id: string, passed: boolean): Promise<string>;
  /** Confirms a set-up intent with a card that its customer gave in a browser; answers with the intent as it then is. */
  setUp(id: string, paymentMethod: string): Promise<string>;
  /** The intent whose client secret this is; throws for any other text. */
  intentOf(clientSecret: string): string;
}

export interface BankParts {
  readonly records: Records;
  readonly write: Write;
  /** A call on behalf of the issuer, on the account of the record that it is about. */
  openCall(account: string): { call: Call; settle: () => void };
}

/** Does something on an account in one write. */
export async function actOn<Result>(
  { openCall, write }: Pick<BankParts, 'openCall' | 'write'>,
  account: string,
  work: (call: Call) => Result,
): Promise<Result> {
  const { call, settle } = openCall(account);
  const result = await write(() => work(call));
  settle();
  return result;
}

export function openBank(parts: BankParts): Bank {
  const { records } = parts;
  const locate = (id: string) =>
    id.startsWith('seti_') ? records.locate('setup_intent', id) : records.locate('payment_intent', id);
  return {
    intentOf(clientSecret) {
      const [id = ''] = clientSecret.split('_secret_');
      const found = locate(id);
      if (found === undefined || clientSecret !== `${id}_secret_${found.secret}`) {
        throw invalidRequest('The client secret is not that of an intent.');
      }
      return id;
    },
    async setUp(id, paymentMethod) {
      const found = records.locate('setup_intent', id);
      if (found === undefined) throw missingRecord('setup_intent', id);
      return actOn(parts, found.account, (call) => {
        const setup = call.records.need('setup_intent', call.account, id);
        const method = usablePaymentMethod(call, paymentMethod, setup.customer);
        return JSON.stringify(shape('setup_intent', confirmSetupIntent(call, { ...setup, paymentMethod: method.id })));
      });
    },
    async authenticate(id, passed) {
      const found = locate(id);
      if (found === undefined) throw missingRecord(id.startsWith('seti_') ? 'setup_intent' : 'payment_intent', id);
      // In the write itself: of two answers at once, the second finds that nothing waits any more.
      return actOn(parts, found.account, (call) =>
        JSON.stringify(id.startsWith('seti_') ? ofSetUp(call, id, passed) : ofPayment(call, id, passed)),
      );
    },
  };
}

function ofPayment(call: Call, id: string, passed: boolean): object {
  const intent = call.records.need('payment_intent', call.account, id);
  if (intent.status !== 'requires_action') throw nothingWaits();
  const method = call.records.need('payment_method', call.account, intent.paymentMethod ?? '');
  if (passed) approve(call, intent, method, false);
  else {
    // No charge was asked of the issuer: there is none, and no decline code.
    const lastError = failedAuthentication('payment_intent_authentication_failure', method);
    const failed = { ...intent, status: 'requires_payment_method' as const, paymentMethod: null, lastError };
    call.records.update('payment_intent', failed);
    call.emit('payment_intent.payment_failed', 'payment_intent', failed);
  }
  return shape('payment_intent', call.records.need('payment_intent', call.account, id));
}

function ofSetUp(call: Call, id: string, passed: boolean): object {
  const setup = call.records.need('setup_intent', call.account, id);
  if (setup.status !== 'requires_action') throw nothingWaits();
  if (passed) return shape('setup_intent', confirmSetupIntent(call, setup, true));
  const method = call.records.need('payment_method', call.account, setup.paymentMethod ?? '');
  const lastError = failedAuthentication('setup_intent_authentication_failure', method);
  const failed = { ...setup, status: 'requires_payment_method' as const, paymentMethod: null, lastError };
  call.records.update('setup_intent', failed);
  call.emit('setup_intent.setup_failed', 'setup_intent', failed);
  return shape('setup_intent', failed);
}

function nothingWaits() {
  return invalidRequest('No payment is waiting for authentication.');
}

function failedAuthentication(code: string, method: PaymentMethodRecord): LastError {
  return {
    ...{ type: 'invalid_request_error', code, message: 'The provided payment method has failed authentication.' },
    payment_method: shape('payment_method', method),
  };
}
