import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  armFailpoint,
  type FailpointAction,
  failpointReached,
  listFailpoints,
  releaseFailpoint,
} from './failpoints.ts';
import { sendJson } from './send-json.ts';

const longestBody = 1_024;
const actions: readonly FailpointAction[] = ['kill', 'error', 'pause'];

/**
 * `GET /failpoints` lists them, `PUT /failpoints/<name>` with `{action, skip}` arms one, `DELETE` disarms it and releases its waiters,
 * `GET /failpoints/<name>/reached` answers once a step is held there.
 */
export async function answerFailpoints(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const [name = '', verb] = path
    .slice('/failpoints/'.length)
    .split('/')
    .map((part) => decodeURIComponent(part));
  if (name === '') return sendJson(response, 200, listFailpoints());
  if (!listFailpoints().some((one) => one.name === name))
    return sendJson(response, 404, { detail: 'No such failpoint' });
  if (request.method === 'PUT') {
    const arming = readArming(await readBody(request));
    if (arming === undefined)
      return sendJson(response, 422, { detail: 'send {"action": "kill|error|pause", "skip": 0}' });
    armFailpoint(name, arming);
  } else if (request.method === 'DELETE') releaseFailpoint(name);
  else if (verb === 'reached') await failpointReached(name);
  sendJson(response, 200, listFailpoints().find((one) => one.name === name) ?? {});
}

function readArming(text: string): { action: FailpointAction; skip: number } | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof body !== 'object' || body === null) return undefined;
  const { action, skip = 0 } = body as { action?: unknown; skip?: unknown };
  const known = actions.find((one) => one === action);
  if (known === undefined || typeof skip !== 'number' || !Number.isInteger(skip) || skip < 0) return undefined;
  return { action: known, skip };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > longestBody) return '';
  }
  return text;
}
