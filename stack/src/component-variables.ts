import type { ComponentName } from './components.ts';

/** What Node and the system read. */
const ofTheSystem = new Set([
  ...['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'UV_THREADPOOL_SIZE'],
  ...['NODE_OPTIONS', 'NODE_ENV', 'NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS', 'NODE_V8_COVERAGE'],
]);

/** What every component reads. A test compares this list and the next with what the code reads. */
const ofEveryComponent = [
  ...['ELIGO_ENV', 'LOG_LEVEL', 'ELIGO_FAILPOINTS', 'ELIGO_FAILPOINT'],
  ...['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_SAMPLER_ARG'],
  ...['ELIGO_DISK_FOLDER', 'ELIGO_DISK_LEAST_FREE_MB'],
  ...['HOST', 'ADMIN_PORT', 'ELIGO_ADMIN_HOSTS', 'GRPC_PORT', 'ELIGO_DRAIN_DELAY_MS', 'ELIGO_TLS_FOLDER'],
  'DATABASE_CONNECTIONS',
  ...['NATS_URL', 'ELIGO_NATS_TLS_FOLDER', 'ELIGO_NATS_STORE_GB', 'ELIGO_STREAM_REPLICAS'],
  ...['ELIGO_SERVICE_KEY', 'ELIGO_SERVICE_PUBLIC_KEYS', 'ELIGO_OPERATOR_PUBLIC_KEY'],
];

const ofTheProcessor = [
  ...['ELIGO_SANDBOX_URL', 'ELIGO_SANDBOX_KEY', 'STRIPE_SECRET_KEY', 'STRIPE_ACCOUNTS', 'ELIGO_LIVE_PROCESSOR'],
];

/** What one component reads beside. */
const ofOneComponent: Readonly<Record<ComponentName, readonly string[]>> = {
  catalog: [],
  checkout: [
    ...ofTheProcessor,
    ...['ELIGO_KEYRING', 'ELIGO_PUBLIC_URL', 'ELIGO_PAGE_KEY'],
    ...['ELIGO_CHARGE_CALL_MS', 'ELIGO_CHARGE_LEASE_MS', 'ELIGO_CHARGE_MARGIN_MS'],
  ],
  billing: [
    ...['ELIGO_PUBLIC_URL', 'ELIGO_PAGE_KEY', 'ELIGO_SMTP_URL', 'ELIGO_MAIL_FROM', 'ELIGO_MAIL_FOLDER'],
    'ELIGO_RENEWAL_LEASE_MS',
  ],
  refunds: [...ofTheProcessor, 'ELIGO_REFUND_CALL_MS', 'ELIGO_REFUND_LEASE_MS', 'ELIGO_REFUND_MARGIN_MS'],
  webhooks: ['ELIGO_KEYRING', 'ELIGO_WEBHOOK_TARGETS', 'ELIGO_WEBHOOK_PORTS', 'ELIGO_WEBHOOK_DENIED_NETWORKS'],
  gateway: [
    ...['PORT', 'ELIGO_PAGE_KEY', 'ELIGO_SANDBOX_PUBLIC_URL', 'ELIGO_TRUSTED_PROXIES', 'ELIGO_FILE_SCANNER'],
    ...[
      'ELIGO_FILES_S3_URL',
      'ELIGO_FILES_S3_REGION',
      'ELIGO_FILES_S3_ACCESS_KEY_ID',
      'ELIGO_FILES_S3_SECRET_ACCESS_KEY',
    ],
    ...['ELIGO_SANDBOX_EVENTS_SECRET', 'ELIGO_STRIPE_EVENTS_SECRET', 'STRIPE_ACCOUNTS'],
    ...['ELIGO_RATE_LIMIT_LIVE', 'ELIGO_RATE_LIMIT_TEST', 'ELIGO_RATE_LIMIT_FAILED_AUTH'],
    ...['ELIGO_MAX_CONNECTIONS', 'ELIGO_MAX_CONNECTIONS_PER_ADDRESS', 'ELIGO_DEPRECATED_ENDPOINTS'],
  ],
};

/** The variables that a component reads, by name or as `…_FILE`, without the addresses of its peers. */
export function variablesReadBy(name: ComponentName): readonly string[] {
  return [...ofEveryComponent, `${name.toUpperCase()}_DATABASE_URL`, ...ofOneComponent[name]];
}

/** Whether a process of this component is given a variable: what the system reads, what the component reads, and where its peers are. */
export function isGivenTo(name: ComponentName, variable: string): boolean {
  const read = variablesReadBy(name);
  return (
    isOfTheSystem(variable) ||
    read.includes(variable) ||
    read.includes(variable.replace(/_FILE$/, '')) ||
    /^(?:CATALOG|CHECKOUT|BILLING|REFUNDS|WEBHOOKS)_URL$/.test(variable)
  );
}

export function isOfTheSystem(variable: string): boolean {
  return ofTheSystem.has(variable);
}
