import type { Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { FileRecord } from '../store/record-types.ts';
import type { Call, Route } from './route.ts';

export const fileRoutes: Route[] = [
  { method: 'POST', path: '/v1/files', call: 'files.create', prepare: createFile },
  { method: 'GET', path: '/v1/files/:id', call: 'files.retrieve', prepare: retrieveFile },
];

/** Fields of evidence that name files. */
export const fileFields: readonly string[] = [
  ...[
    'cancellation_policy',
    'customer_communication',
    'customer_signature',
    'duplicate_charge_documentation',
    'receipt',
  ],
  ...['refund_policy', 'service_documentation', 'shipping_documentation', 'uncategorized_file'],
];

/** What the files of one dispute may have together. */
const maxEvidenceBytes = 4_718_592;

/** Refuses evidence that names a file which is not there, and files that are too large together. */
export function checkFiles(call: Call, evidence: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const field of fileFields) {
    const id = evidence[field];
    if (id === undefined || id === '') continue;
    const param = `evidence[${field}]`;
    bytes += call.records.need('file', call.account, id, param, 400).size;
    if (bytes > maxEvidenceBytes)
      throw invalidRequest('The combined size of all files must be at most 4.5 MB.', { param });
  }
}

function createFile(parameters: Parameters) {
  const purpose = parameters.oneOf('purpose', ['dispute_evidence'] as const);
  if (purpose === undefined)
    throw invalidRequest('Missing required param: purpose.', { param: 'purpose', code: 'parameter_missing' });
  const file = parameters.object('file');
  if (file === undefined)
    throw invalidRequest('Missing required param: file.', { param: 'file', code: 'parameter_missing' });
  const described = {
    ...{ filename: file.requiredText('name'), size: file.requiredInteger('size') },
    ...{ type: file.requiredText('type'), sha256: file.requiredText('sha256') },
  };
  file.finish();
  parameters.finish();
  return (call: Call) => {
    const record: FileRecord = {
      id: call.newId('file'),
      account: call.account,
      created: call.at,
      purpose,
      ...described,
    };
    call.records.insert('file', record);
    return shape('file', record);
  };
}

function retrieveFile(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('file', call.records.need('file', call.account, call.id));
}
