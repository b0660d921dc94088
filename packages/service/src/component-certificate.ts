import type { WatchedCertificate } from '@eligo/rpc/grpc';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** Follows a component's certificate for its server and its clients; logs what becomes of the files. */
export async function openCertificate(
  folder: string,
  component: string,
  { logger, metrics }: { logger: Logger; metrics: Metrics },
): Promise<WatchedCertificate> {
  const { watchCertificate } = await import('@eligo/rpc/grpc');
  const watched = watchCertificate({
    folder,
    component,
    onReplaced: ({ expiresAt }) => logger.info({ expiresAt }, 'Took over a new TLS certificate'),
    onRefused: (reason) =>
      logger.error({ error: reason }, 'The files in ELIGO_TLS_FOLDER are unusable; the certificate from before stays'),
  });
  metrics.gauge('certificate_expires_seconds', 'Seconds until the TLS certificate between components expires', () => {
    return (watched.current().expiresAt.getTime() - Date.now()) / 1_000;
  });
  return watched;
}
