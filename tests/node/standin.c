/* Stands in for the images that example Pods name: there is no way out of the node to pull them. Answers every HTTP request with 200, on
 * port 9901 when it is started as Envoy is (and then only with the configuration that it was told to read), else on 8080. Of Pods it is also the
 * pause container. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    unsigned short port = 8080;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--config-path") == 0) {
            if (access(argv[i + 1], R_OK) != 0) {
                perror(argv[i + 1]);
                return 1;
            }
            port = 9901;
        }
    }
    signal(SIGTERM, _exit);
    signal(SIGPIPE, SIG_IGN);
    /* The pause container has the Pod's ports to leave to others. */
    if (getpid() == 1 && argc == 1) {
        for (;;) pause();
    }
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 16) != 0) {
        perror("listen");
        return 1;
    }
    const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for (;;) {
        char request[4096];
        int connection = accept(listener, NULL, NULL);
        if (connection < 0) continue;
        if (read(connection, request, sizeof request) > 0) write(connection, answer, sizeof answer - 1);
        shutdown(connection, SHUT_WR);
        close(connection);
    }
}
