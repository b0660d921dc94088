import { Code, ConnectError } from '@connectrpc/connect';
import type { Clock } from '@eligo/values';
import { checkProof, headerNames, type OperatorCall } from './operator-proof.ts';
import type { Login, LoginVerifier } from './operator-token.ts';

/** What an operator asks a component to do. */
export interface OperatorAction {
  readonly login: Login;
  /** `<component>.<Method>`. */
  readonly action: string;
  /** Undefined for methods that work outside any account. */
  readonly scope: OperatorCall['scope'];
  /** The first identifier in the request. */
  readonly subjectId: string | undefined;
  readonly requestId: string;
  /** The proof of the call, which serves once. */
  readonly proofId: string;
  /** Whether the login or the method's policy forbids it. */
  readonly refused: boolean;
}

/** Why a call has no row of the audit log. */
export const refusalReasons = [
  ...(['no_login', 'expired_login', 'invalid_login'] as const),
  ...(['no_proof', 'expired_proof', 'invalid_proof', 'used_proof'] as const),
] as const;

/** A call whose caller did not prove who they are, or that the call is theirs. */
export interface RefusedCall {
  readonly reason: (typeof refusalReasons)[number];
  /** `<component>.<Method>`. */
  readonly action: string;
  /** The address that it came from. */
  readonly from: string | undefined;
  /** Of a login that is valid. */
  readonly operatorId: string | undefined;
  readonly requestId: string;
}

/** Another call came with the same proof. */
export class UsedProof extends Error {
  override readonly name = 'UsedProof';
}

/** Lets operators in. */
export interface OperatorGate extends LoginVerifier {
  /**
   * Keeps the action in the audit log, before it is carried out or refused; an action that cannot be recorded is refused. Throws UsedProof if the
   * log has its proof already.
   */
  record(action: OperatorAction): Promise<void>;
  /** Reports a call that has no row of the audit log: its login or its proof is refused. */
  report(refused: RefusedCall): void;
}

/** A call that arrived on an admin port. */
export interface ArrivedCall extends OperatorCall {
  readonly requestId: string;
  /** The address of its sender, if it is known. */
  readonly from: string | undefined;
}

/** Admits one call of an operator. */
export class OperatorEntry {
  readonly #operators: OperatorGate | undefined;
  readonly #call: ArrivedCall;
  readonly #clock: Clock;

  constructor(operators: OperatorGate | undefined, call: ArrivedCall, clock: Clock) {
    this.#operators = operators;
    this.#call = call;
    this.#clock = clock;
  }

  /** The login that the headers prove for this call. Throws, and reports, what is wrong with them. */
  admit(headers: Headers, digest: () => Buffer): { readonly login: Login; readonly proofId: string } {
    const [, token] = /^Bearer (\S+)$/.exec(headers.get('authorization') ?? '') ?? [];
    if (token === undefined || this.#operators === undefined) throw this.#refusal('no_login');
    const login = this.#operators.verify(token);
    if ('problem' in login) throw this.#refusal(`${login.problem}_login`);
    const proof = headers.get(headerNames.proof);
    if (proof === null) throw this.#refusal('no_proof', login);
    const checked = checkProof(proof, this.#call, { digest: digest(), publicKey: login.proofKey, clock: this.#clock });
    if ('problem' in checked) throw this.#refusal(`${checked.problem}_proof`, login);
    return { login, proofId: checked.id };
  }

  /** Has the action recorded before it runs or is refused. Throws if it cannot be, and if another call used the proof. */
  async record(action: OperatorAction): Promise<void> {
    try {
      await this.#operators?.record(action);
    } catch (error) {
      if (error instanceof UsedProof) throw this.#refusal('used_proof', action.login);
      // The gate has logged why.
      throw new ConnectError('The action cannot be recorded in the audit log', Code.Unavailable);
    }
  }

  #refusal(reason: RefusedCall['reason'], login?: Login): ConnectError {
    const { method: action, from, requestId } = this.#call;
    this.#operators?.report({ reason, action, from, requestId, operatorId: login?.operator.id });
    return new ConnectError(messages[reason], Code.Unauthenticated);
  }
}

const makeHeaders = 'make the headers of each call with eligo operator headers';
const messages: Readonly<Record<RefusedCall['reason'], string>> = {
  no_login: "Business calls on this port require an operator's login",
  expired_login: 'The login expired; log in again',
  invalid_login: 'The login is not of this installation and release; log in again',
  no_proof: `The call has no proof of this release; ${makeHeaders}`,
  expired_proof: `The proof is too old, or the clocks differ; ${makeHeaders}`,
  invalid_proof: `The proof is not for this component, method, account, mode and body by this login; ${makeHeaders}`,
  used_proof: `The proof was used before; ${makeHeaders}`,
};
