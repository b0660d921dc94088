// The containers' health check: exits with 0 when this part is ready. It asks where the part itself was told to listen.
const { ADMIN_PORT, PORT } = process.env;
const url = ADMIN_PORT ? `http://127.0.0.1:${ADMIN_PORT}/readyz` : `http://127.0.0.1:${PORT}/healthz`;

try {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_500) });
  if (!answer.ok) throw new Error(`${answer.status}`);
} catch (error) {
  console.error(`${url}: ${error.message}`);
  process.exitCode = 1;
}
