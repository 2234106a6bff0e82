package layered
