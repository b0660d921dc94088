import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { addOperator, findOperator, listOperators, revokeOperator } from '@eligo/gateway/accounts';
import { generateProofKey, longestLoginMs, newRequestId, operatorHeaders, signLogin } from '@eligo/rpc';
import { listOperatorActions, type OperatorActionRow, recordOperatorAction } from '@eligo/service';
import { isId } from '@eligo/values';
import { type Command, type Given, UsageError } from '../command.ts';
import { componentsNamed } from '../components.ts';
import { withAccounts, withComponent } from '../connect.ts';
import { durationMs } from '../duration.ts';
import { givenLogin } from '../given-login.ts';
import { operatorKey } from '../operator-key.ts';
import { variable } from '../variable.ts';

/** Who operates the installation, and what they did. */
export const operatorCommands: readonly Command[] = [
  {
    name: 'operators add',
    usage: '--name NAME',
    summary: 'Registers an operator. Prints the personal credential once; only its hash is stored.',
    options: { name: { type: 'string' } },
    async run(given) {
      const { operatorId, name, credential } = await withAccounts((database) =>
        addOperator(database, { name: given.needed('name') }),
      );
      return {
        json: { operator_id: operatorId, credential },
        lines: [`${operatorId}  ${name}`, `credential  ${credential}`, 'The credential is not shown again.'],
      };
    },
  },
  {
    name: 'operators list',
    usage: '',
    summary: 'Lists the operators, newest first.',
    readsOnly: true,
    options: {},
    async run() {
      const operators = await withAccounts(listOperators);
      return {
        json: {
          operators: operators.map(({ created_at, revoked_at, ...rest }) => ({
            ...rest,
            ...{ created_at: created_at.toISOString(), revoked_at: revoked_at?.toISOString() ?? null },
          })),
        },
        lines: operators.map(
          ({ operator_id, name, revoked_at }) => `${operator_id}  ${name}${revoked_at ? '  revoked' : ''}`,
        ),
      };
    },
  },
  {
    name: 'operators revoke',
    usage: 'OPERATOR_ID',
    summary: 'Ends an operator’s credential at once. A login that it has made ends by itself, within 12 hours.',
    options: {},
    words: ['OPERATOR_ID'],
    async run({ words: [id = ''] }) {
      const isRevoked = await withAccounts((database) => revokeOperator(database, id));
      if (!isRevoked) throw new UsageError('There is no such operator with a credential');
      return { json: { operator_id: id, revoked: true }, lines: [`${id} revoked`] };
    },
  },
  {
    name: 'operator login',
    usage: '[--allow reads|COMPONENT.METHOD|COMMAND]… [--for 1h]',
    summary:
      'Logs in the operator whose credential is in ELIGO_OPERATOR_CREDENTIAL. Prints a signed login for admin ports and this tool, which allows reads, or what --allow names, for at most 12 hours, and its key, which proves calls and is sent to no component.',
    // It writes its own row, in the operator's name.
    readsOnly: true,
    logsIn: true,
    options: { allow: { type: 'string', multiple: true }, for: { type: 'string', default: '1h' } },
    run: logIn,
  },
  {
    name: 'operator headers',
    usage: 'COMPONENT.METHOD [--account ACCOUNT [--mode test|live]] [--body JSON|@FILE]',
    summary:
      'Prints the headers of one call to a component’s admin port, for curl -H @-: the login in ELIGO_OPERATOR_TOKEN, and a proof for this method, account, mode and body ({} by default) by ELIGO_OPERATOR_PROOF_KEY, valid for one call within a minute.',
    readsOnly: true,
    options: { account: { type: 'string' }, mode: { type: 'string' }, body: { type: 'string', default: '{}' } },
    words: ['COMPONENT.METHOD'],
    run: makeHeaders,
  },
  {
    name: 'audit list',
    usage: '[--service SERVICE] [--account ACCOUNT] [--operator NAME] [--limit 100]',
    summary: 'Lists what operators did, newest first: by admin ports and by this tool.',
    readsOnly: true,
    options: {
      service: { type: 'string' },
      account: { type: 'string' },
      operator: { type: 'string' },
      limit: { type: 'string', default: '100' },
    },
    run: listAudit,
  },
];

async function logIn(given: Given) {
  // Not an option: other users of the machine see those.
  const credential = variable('ELIGO_OPERATOR_CREDENTIAL');
  if (!credential) throw new UsageError('Set ELIGO_OPERATOR_CREDENTIAL to your personal credential');
  const lifeMs = durationMs(given.needed('for'));
  if (lifeMs > longestLoginMs) throw new UsageError('--for must be at most 12h');
  const allows = given.list('allow').length === 0 ? ['reads'] : given.list('allow');
  const operator = await withAccounts(async (database) => {
    const found = await findOperator(database, credential);
    if (found === undefined) throw new UsageError('No operator has this credential, or it was revoked');
    const key = generateProofKey();
    const login = {
      ...{ operator: found, loginId: randomUUID(), allows, expiresAtMs: Date.now() + lifeMs },
      proofKey: key.publicKey,
    };
    const token = signLogin(login, operatorKey());
    await recordOperatorAction(database, {
      ...{ operator: found, loginId: login.loginId, action: 'operator login', scope: undefined, subjectId: found.id },
      requestId: newRequestId(),
    });
    return { ...found, token, proofKey: key.privateKey, expiresAt: new Date(login.expiresAtMs).toISOString() };
  });
  const { token, proofKey, expiresAt } = operator;
  return {
    json: { operator_id: operator.id, name: operator.name, allows, expires_at: expiresAt, token, proof_key: proofKey },
    lines: [
      `export ELIGO_OPERATOR_TOKEN=${token}`,
      `export ELIGO_OPERATOR_PROOF_KEY=${proofKey}`,
      `# allows ${allows.join(', ')}; until ${expiresAt}`,
    ],
  };
}

async function makeHeaders(given: Given) {
  const [method = ''] = given.words;
  if (!/^[a-z]+\.[A-Z]\w*$/.test(method)) throw new UsageError(`Invalid method "${method}"; use catalog.ListPrices`);
  const login = givenLogin();
  if (login === undefined) throw new UsageError('ELIGO_OPERATOR_TOKEN is not set; run operator login');
  const accountId = given.text('account');
  const mode = given.text('mode') ?? 'test';
  if (mode !== 'test' && mode !== 'live') throw new UsageError('--mode must be test or live');
  const scope = accountId === undefined ? undefined : { accountId, testMode: mode === 'test' };
  const body = bodyOf(given.needed('body'));
  const headers = { ...operatorHeaders({ method, scope, body }, login), 'content-type': 'application/json' };
  return { json: headers, lines: Object.entries(headers).map(([name, value]) => `${name}: ${value}`) };
}

// As curl's --data-binary reads it: the proof is for these bytes.
function bodyOf(text: string): string | Buffer {
  if (!text.startsWith('@')) return text;
  try {
    return readFileSync(text.slice(1));
  } catch (cause) {
    throw new UsageError(`Failed to read ${text.slice(1)}`, { cause });
  }
}

async function listAudit(given: Given) {
  const most = Number(given.needed('limit'));
  if (!Number.isInteger(most) || most < 1 || most > 1_000) throw new UsageError('--limit must be 1 to 1000');
  const accountId = given.text('account');
  if (accountId !== undefined && !isId('account', accountId)) throw new UsageError('--account must be an account’s id');
  const filter = { accountId, operatorName: given.text('operator'), most };
  const actions: ReturnType<typeof actionOf>[] = [];
  for (const service of componentsNamed('service', given.text('service'))) {
    const rows = await withComponent(service, (database) => listOperatorActions(database, filter));
    actions.push(...rows.map((row) => actionOf(service, row)));
  }
  actions.sort((a, b) => b.at.localeCompare(a.at));
  const shown = actions.slice(0, most);
  return { json: { actions: shown }, lines: shown.map(lineOf) };
}

function actionOf(service: string, { at, test_mode, ...row }: OperatorActionRow) {
  const mode = test_mode === null ? null : test_mode ? 'test' : 'live';
  return { at: at.toISOString(), service, mode, ...row };
}

function lineOf(row: ReturnType<typeof actionOf>): string {
  const { at, service, operator_name, action, account_id, mode, subject_id, request_id, refused } = row;
  return [at, service, operator_name, refused && 'refused', action, account_id, mode, subject_id, request_id]
    .filter(Boolean)
    .join('  ');
}
