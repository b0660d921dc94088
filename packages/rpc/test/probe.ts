import { create, createFileRegistry, type DescService, type Message, setExtension } from '@bufbuild/protobuf';
import type { GenMessage, GenService } from '@bufbuild/protobuf/codegenv2';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  MethodOptions_IdempotencyLevel,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import { file_eligo_caller_v1_caller, MethodPolicySchema, policy } from '@eligo/proto/caller/v1/caller';

/** A message with a field of each kind that encodings treat differently. */
export type Probe = Message<'eligo.probe.v1.Probe'> & { text: string; amount: bigint; count: number; note?: string };
type ProbeMessage = GenMessage<Probe>;

/** The methods of the service that these tests serve. */
export type ProbeService = GenService<{
  echo: { methodKind: 'unary'; input: ProbeMessage; output: ProbeMessage };
  read: { methodKind: 'unary'; input: ProbeMessage; output: ProbeMessage };
  count: { methodKind: 'server_streaming'; input: ProbeMessage; output: ProbeMessage };
  open: { methodKind: 'unary'; input: ProbeMessage; output: ProbeMessage };
}>;

/** `eligo.probe.v1.ProbeService`, described in code: a service of tests has no place among the generated ones. */
export const ProbeService = describeService('ProbeService', { policies: 'declared' }) as unknown as ProbeService;
/** The same with no policies, which no server may start with. */
export const UnguardedService = describeService('UnguardedService', { policies: 'none' });
/** The same with policies that name no caller, which no server may start with either. */
export const UnreachableService = describeService('UnreachableService', { policies: 'empty' });

function describeService(name: string, { policies }: { policies: 'declared' | 'none' | 'empty' }): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: `eligo/probe/v1/${name}.proto`,
    package: 'eligo.probe.v1',
    syntax: 'proto3',
    dependency: ['eligo/caller/v1/caller.proto'],
    messageType: [
      {
        name: 'Probe',
        field: [
          field('text', 1, FieldDescriptorProto_Type.STRING),
          field('amount', 2, FieldDescriptorProto_Type.INT64),
          field('count', 3, FieldDescriptorProto_Type.INT32),
          { ...field('note', 4, FieldDescriptorProto_Type.STRING), proto3Optional: true, oneofIndex: 0 },
        ],
        oneofDecl: [{ name: '_note' }],
      },
    ],
    service: [
      {
        name,
        method: [
          method('Echo', { callers: ['gateway', 'checkout', 'probe'] }),
          method('Read', { callers: ['gateway', 'checkout'], safe: true }),
          method('Count', { callers: ['gateway'], stream: true }),
          method('Open', { callers: ['checkout'], withoutContext: true }),
        ],
      },
    ],
  });
  const registry = createFileRegistry(file, (path) =>
    path === 'eligo/caller/v1/caller.proto' ? file_eligo_caller_v1_caller : undefined,
  );
  const service = registry.getService(`eligo.probe.v1.${name}`);
  if (service === undefined) throw new Error('the probe service was not described');
  return service;

  function method(
    methodName: string,
    rules: { callers: string[]; safe?: boolean; stream?: boolean; withoutContext?: boolean },
  ) {
    const options = create(MethodOptionsSchema);
    if (rules.safe === true) options.idempotencyLevel = MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    if (policies !== 'none') {
      const declared = create(MethodPolicySchema, {
        callers: policies === 'empty' ? [] : rules.callers,
        withoutContext: rules.withoutContext ?? false,
      });
      setExtension(options, policy, declared);
    }
    return {
      name: methodName,
      inputType: '.eligo.probe.v1.Probe',
      outputType: '.eligo.probe.v1.Probe',
      serverStreaming: rules.stream ?? false,
      options,
    };
  }
}

function field(name: string, number: number, type: FieldDescriptorProto_Type) {
  return { name, number, type, label: FieldDescriptorProto_Label.OPTIONAL, jsonName: name };
}
