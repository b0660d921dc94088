import { records, routes } from '@eligo/contract';
import { mediaTypes } from '@eligo/values';
import { type Binding, bind } from '../bind.ts';
import { readContent, readFile } from '../files/read-content.ts';
import { type FileReceiver, receiveFile } from '../files/receive-file.ts';
import type { Transfer, Transfers } from '../files/transfers.ts';
import { FileAnswer } from '../http/api-request.ts';

/** What files are received and read with. */
export interface FileParts extends FileReceiver {
  readonly transfers: Transfers;
  /** Throws while the disk is nearly full. */
  readonly assertRoom: () => void;
}

/** Files: the gateway's own records. */
export function fileBindings(files: FileParts): Binding[] {
  const { create, get, getContent } = routes.files;
  const { database, stores, transfers, assertRoom } = files;
  return [
    bind(create, async ({ key, request }) => {
      const { body } = create;
      if (body === undefined) throw new Error('Uploads have a body');
      assertRoom();
      const transfer = transfers.begin(key.accountId);
      try {
        return { file: records.file.render(await receiveFile(files, key, request, body, transfer)) };
      } finally {
        transfer.end();
      }
    }),
    bind(get, async ({ key, id }) => ({ file: records.file.render(await readFile(database, key, id)) })),
    bind(getContent, async ({ key, id }) => {
      const file = await readFile(database, key, id);
      return new FileAnswer({
        ...{ type: mediaTypes[file.type], filename: file.filename, sizeBytes: file.sizeBytes },
        pieces: whileTransferred(transfers.begin(key.accountId), readContent(stores, key, file)),
      });
    }),
  ];
}

async function* whileTransferred(transfer: Transfer, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    for await (const piece of pieces) {
      transfer.moved(piece.length);
      yield piece;
    }
  } finally {
    transfer.end();
  }
}
