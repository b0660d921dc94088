import type { Database } from '@eligo/postgres';
import type { GatewaySettings } from '../config.ts';
import { type ContentStores, contentStores } from './content-stores.ts';
import { postgresContent } from './postgres-content.ts';
import { s3Content } from './s3-content.ts';

/** The stores of files that the settings name. */
export function fileStores({
  database,
  settings,
}: {
  readonly database: Database;
  readonly settings: Pick<GatewaySettings, 'fileBucket'>;
}): ContentStores {
  return contentStores(postgresContent(database), settings.fileBucket && s3Content(settings.fileBucket));
}
