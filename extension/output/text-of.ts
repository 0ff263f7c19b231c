/** Bytes that are no text travel in base64; to a person they are shown as well as they can be. */
export function textOf({ data, encoding }: { data: string; encoding?: string | undefined }): string {
  return encoding === 'base64' ? Buffer.from(data, 'base64').toString('utf8') : data;
}
