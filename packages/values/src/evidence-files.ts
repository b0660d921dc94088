/** The fields of a dispute's evidence that hold files, by the processor's names. */
export const evidenceFileFields: readonly string[] = [
  ...['cancellation_policy', 'customer_communication', 'customer_signature', 'duplicate_charge_documentation'],
  ...['receipt', 'refund_policy', 'service_documentation', 'shipping_documentation', 'uncategorized_file'],
];

/** The kinds of content that a file can have. */
export const fileTypes = ['pdf', 'png', 'jpeg'] as const;

export type FileType = (typeof fileTypes)[number];

/** The media type of each kind. */
export const mediaTypes: Readonly<Record<FileType, string>> = {
  pdf: 'application/pdf',
  png: 'image/png',
  jpeg: 'image/jpeg',
};

/** Whether a text names a kind of content. */
export function isFileType(type: string): type is FileType {
  return Object.hasOwn(mediaTypes, type);
}
