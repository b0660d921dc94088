import { mediaTypes } from '@eligo/values';
import { z } from 'zod';
import { oneOf } from '../answers.ts';
import { time } from '../fields.ts';
import { filePurposes } from '../resources/file.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'file' } as const;

export const fileRoutes = {
  create: defineRoute({
    id: 'files.create',
    summary: 'Upload a file: PDF, PNG or JPEG, at most 10 MB',
    method: 'POST',
    path: '/v1/files',
    scope: 'files_write',
    owner: 'gateway',
    body: {
      envelope: null,
      file: 'file',
      schema: z.object({ purpose: z.enum(filePurposes), expires_at: time.optional() }),
    },
    response: oneOf('file'),
    errors: ['invalid_multipart', 'file_too_large', 'file_storage_full', 'too_many_file_transfers'],
    violations: ['file_type_not_supported', 'file_type_mismatch', 'file_infected'],
  }),
  get: defineRoute({
    id: 'files.get',
    summary: 'Read what is known of a file',
    method: 'GET',
    path: '/v1/files/{id}',
    params,
    scope: 'files_read',
    owner: 'gateway',
    response: oneOf('file'),
  }),
  getContent: defineRoute({
    id: 'files.get_content',
    summary: 'Download a file, as an attachment',
    method: 'GET',
    path: '/v1/files/{id}/content',
    params,
    scope: 'files_read',
    owner: 'gateway',
    download: Object.values(mediaTypes),
    response: z.never(),
    errors: ['too_many_file_transfers'],
  }),
};
