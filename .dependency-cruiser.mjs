// The layers, as ARCHITECTURE.md draws them. `npm run check` holds them.
const services = '^services/[^/]+/';
const tests = '(\\.test\\.ts$|/test/|/checks/|^e2e/)';
const boots = '^(stack|testkit|bench|cli|e2e)/';
const packaged = (name) => `(^|/)node_modules/${name}/`;

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-service-imports-another',
      comment: 'Services know each other by their internal contracts (proto/) alone.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: services, pathNot: '^services/$1/' },
    },
    {
      name: 'domain-is-pure',
      comment:
        'domain/ decides by values and a time: it imports values, failures and its own kind, hashes, and the arithmetic of addresses.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/domain/', pathNot: tests },
      to: { pathNot: ['^services/$1/src/domain/', '^packages/(values|failures)/', '^crypto$', packaged('ipaddr.js')] },
    },
    {
      name: 'packages-import-no-service',
      comment: 'Only the stack, the test kit, the bench, the command line and the end-to-end tests import services.',
      severity: 'error',
      from: { path: '^(packages|sandbox|proto|scripts)/' },
      to: { path: '^(services|gateway)/' },
    },
    {
      name: 'nothing-imports-scripts',
      comment: 'Scripts run the repository; code that a script shares with a component belongs in a package.',
      severity: 'error',
      from: { pathNot: '^scripts/' },
      to: { path: '^scripts/' },
    },
    {
      name: 'gateway-imports-no-service',
      comment: 'The gateway calls services over their transports.',
      severity: 'error',
      from: { path: '^gateway/' },
      to: { path: '^services/' },
    },
    {
      name: 'services-import-no-gateway',
      comment: 'Calls go down only.',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: '^gateway/' },
    },
    {
      name: 'nothing-below-imports-what-boots-it',
      comment: 'A service does not know what it is started by; its tests may use the test kit.',
      severity: 'error',
      from: { path: '^(services|gateway|sandbox|packages)/', pathNot: tests },
      to: { path: boots },
    },
    {
      name: 'tests-use-the-testkit-only',
      comment: 'A test of a service is given its constellation by the test kit.',
      severity: 'error',
      from: { path: '^(services|gateway|sandbox|packages)/' },
      to: { path: '^(stack|bench|cli|e2e)/' },
    },
    {
      name: 'store-is-the-bottom-room',
      comment: 'rpc -> actions -> domain and store: SQL does not call upward.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/store/', pathNot: tests },
      to: { path: '^services/[^/]+/src/(rpc|actions|consumers|jobs|messages)/' },
    },
    {
      name: 'messages-know-records-alone',
      comment: 'A message is made from a record: for answers by rpc, for events and stored answers by actions.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/messages/', pathNot: tests },
      to: { path: '^services/[^/]+/src/(?!messages/|domain/)' },
    },
    {
      name: 'nothing-calls-upward-to-rpc',
      comment: 'rpc turns messages into calls of actions and stores; only the composition knows it.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/(?!rpc/|service\\.ts$)', pathNot: tests },
      to: { path: '^services/[^/]+/src/rpc/' },
    },
    {
      name: 'actions-know-no-trigger',
      comment: 'Consumers and jobs call actions, and nothing calls them but the composition.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/(?!consumers/|jobs/|service\\.ts$)', pathNot: tests },
      to: { path: '^services/[^/]+/src/(consumers|jobs)/' },
    },
    {
      name: 'contract-is-the-only-renderer',
      comment: 'Public JSON is made by the contract alone, for the gateway and for webhooks.',
      severity: 'error',
      from: {
        path: '^(services/(catalog|checkout|billing|refunds)|packages|sandbox)/',
        pathNot: ['^packages/contract/', tests],
      },
      to: { path: '^packages/contract/' },
    },
    {
      name: 'values-depend-on-nothing',
      comment: 'Values are pure: whoever imports them imports nothing else.',
      severity: 'error',
      from: { path: '^packages/values/', pathNot: tests },
      to: { pathNot: ['^packages/values/'], dependencyTypesNot: ['core'] },
    },
    {
      name: 'ledger-is-pure',
      comment: 'The rules of the ledger decide by values alone.',
      severity: 'error',
      from: { path: '^packages/ledger/', pathNot: tests },
      to: { pathNot: ['^packages/(ledger|values)/'] },
    },
    {
      name: 'failures-depend-on-little',
      comment: 'Failures cross every layer, so they may drag none of them along.',
      severity: 'error',
      from: { path: '^packages/failures/', pathNot: tests },
      to: { path: '^(packages/(?!failures|values)|services|gateway|sandbox)' },
    },
    {
      name: 'contract-knows-no-machinery',
      comment: 'The public contract is schemas and rendering; it knows neither database nor transport.',
      severity: 'error',
      from: { path: '^packages/contract/', pathNot: tests },
      to: { path: '^packages/(rpc|postgres|events|processes|processor|service)/' },
    },
    {
      name: 'postgres-drivers-in-one-place',
      comment: 'pg and knex are used by packages/postgres; elsewhere a transaction could be had without withTx.',
      severity: 'error',
      from: {
        path: '^(packages|services|gateway|sandbox|cli)/',
        pathNot: ['^packages/postgres/', tests],
      },
      to: { path: [packaged('pg'), packaged('knex')] },
    },
    {
      name: 'nats-in-one-place',
      comment:
        'What touches the NATS client stays in packages/events, so that another client is a change of one package.',
      severity: 'error',
      from: {
        path: '^(packages|services|gateway|sandbox|cli)/',
        pathNot: ['^packages/events/', tests],
      },
      to: { path: packaged('nats') },
    },
    {
      name: 'processor-sdk-in-one-place',
      comment: 'The processor is reached through packages/processor.',
      severity: 'error',
      from: {
        path: '^(packages|services|gateway|sandbox|stack|testkit|cli)/',
        pathNot: ['^packages/processor/', tests],
      },
      to: { path: packaged('stripe') },
    },
    {
      name: 'grpc-in-one-place',
      comment: 'Which stack carries a call is the business of packages/rpc.',
      severity: 'error',
      from: { path: '^(packages|services|gateway|sandbox|stack|testkit|cli)/', pathNot: ['^packages/rpc/', tests] },
      to: { path: [packaged('@grpc/grpc-js'), packaged('@connectrpc/connect-node')] },
    },
    {
      name: 'processes-depend-on-nothing',
      comment: 'The bootstrap imports them before anything is installed.',
      severity: 'error',
      from: { path: '^packages/processes/', pathNot: tests },
      to: { pathNot: '^packages/processes/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'no-test-in-production',
      comment: 'Code that runs does not import tests.',
      severity: 'error',
      from: { pathNot: tests },
      to: { path: '\\.test\\.ts$' },
    },
    {
      name: 'no-circles',
      comment: 'Two files that import each other are one file that answers two questions.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'everything-resolves',
      comment: 'An import that nobody can follow, or of a package that the workspace does not name.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: ['(^|/)node_modules/', '^proto/gen/'] },
    exclude: { path: ['^proto/gen/', '(^|/)vendor/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.d.mts', '.json'],
    },
  },
};
