// How the rater's page reaches its study: by a server. In a page of 'rate pack' pack.js takes the place of this file.

/** Address of the page without the rater's key. */
export const base = location.pathname.replace(/\/$/, "");

/** @param {string} path @param {unknown} [body] What is posted. @returns {Promise<Response>} */
export const send = (path, body) =>
  fetch(
    `${base}/${path}`,
    body === undefined
      ? {}
      : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) },
  );

/** Save the answers as a file, where no server has them. @type {(() => void) | null} */
export const saveAnswers = null;

/** Delete the answers from the browser, where they are. @type {(() => void) | null} */
export const eraseAnswers = null;
