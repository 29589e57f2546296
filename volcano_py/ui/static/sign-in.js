// Signing in leads to the same place of the page: what follows the # is not sent to the server.

const form = document.querySelector("form");

form.action = `/sign-in${location.hash}`;
